import { createServer, STATUS_CODES, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { randomUUID } from 'node:crypto';
import type { ApiErrorCode } from '@opentill/contracts/http/api-errors';
import { refusal, send } from './answer.ts';
import type { Observe } from './observe.ts';

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 15_000;
/** Longer than the idle time of usual load balancers, so that it is they who close. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const TIMEOUTS_CHECKED_EVERY_MS = 2_000;

/** The merchant-facing HTTP server, bounded in every wait. */
export interface ApiServer {
  /** Resolves with the port. */
  listen(port: number, host: string): Promise<number>;
  /** Takes no new connections, lets requests in flight finish, then closes what is left after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** A server round the listener. What HTTP's parser refuses is answered in the envelope as well. */
export function createApiServer(
  listener: RequestListener,
  observe: Pick<Observe, 'connectionRefused'>,
): ApiServer {
  const server = createServer(
    { connectionsCheckingInterval: TIMEOUTS_CHECKED_EVERY_MS, keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS },
    listener,
  );
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    observe.connectionRefused(error.code ?? error.message);
    refuseOnSocket(socket as Socket, refusalOfParser(error.code));
  });
  server.on('checkExpectation', (_request, response) => {
    response.setHeader('X-Request-Id', randomUUID());
    response.setHeader('Connection', 'close');
    send(response, refusal('EXPECTATION_FAILED'));
  });
  return {
    listen: (port, host) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => {
          server.off('error', reject);
          resolve((server.address() as AddressInfo).port);
        });
      }),
    close: (graceMs) => closeServer(server, graceMs),
  };
}

function closeServer(server: Server, graceMs: number): Promise<void> {
  if (!server.listening) return Promise.resolve();
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(deadline);
      resolve();
    });
    server.closeIdleConnections();
  });
}

function refusalOfParser(code: string | undefined): ApiErrorCode {
  if (code === 'HPE_HEADER_OVERFLOW') return 'HEADERS_TOO_LARGE';
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'REQUEST_TIMEOUT' : 'BAD_REQUEST';
}

/** Node hands over the bare socket; an answer that is on its way on it must not be cut into. */
function refuseOnSocket(socket: Socket, code: ApiErrorCode): void {
  const inFlight = (socket as { _httpMessage?: { headersSent?: boolean } | null })._httpMessage;
  if (!socket.writable || inFlight?.headersSent === true) {
    socket.destroy();
    return;
  }
  const { status, body } = refusal(code);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `X-Request-Id: ${randomUUID()}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
