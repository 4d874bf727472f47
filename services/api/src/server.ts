import {
  createServer,
  STATUS_CODES,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { randomUUID } from 'node:crypto';
import type { ApiErrorCode } from '@opentill/contracts/http/api-errors';
import { abortableDelay } from '@opentill/runtime/abortable-delay';
import { refusal, send } from './answer.ts';
import type { Observe } from './observe.ts';

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 15_000;
/** Longer than the idle timeout of common load balancers, so that they close first. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const TIMEOUTS_CHECKED_EVERY_MS = 2_000;
const IDLE_CLOSED_EVERY_MS = 50;

export interface ApiServer {
  listen(port: number, host: string): Promise<number>;
  /**
   * For `drainMs`, or until no connection is open, closes each connection after its next response and still accepts new
   * ones: a client may just be sending a request on an idle connection. Then accepts none, finishes requests in flight,
   * and closes the rest after `graceMs`.
   */
  close(graceMs: number, drainMs?: number): Promise<void>;
}

/** Creates the server. Requests that the HTTP parser rejects get an envelope too. */
export function createApiServer(
  listener: RequestListener,
  observe: Pick<Observe, 'connectionRefused'>,
): ApiServer {
  const inFlight = new Set<ServerResponse>();
  let closing = false;
  const server = createServer(
    {
      connectionsCheckingInterval: TIMEOUTS_CHECKED_EVERY_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      requireHostHeader: false, // rejected below, with an envelope
    },
    (request, response) => {
      inFlight.add(response);
      response.once('close', () => inFlight.delete(response));
      if (closing) response.setHeader('Connection', 'close');
      if (request.httpVersion === '1.1' && request.headers.host === undefined) {
        refuse(response, 'BAD_REQUEST', 'no host');
      } else listener(request, response);
    },
  );
  const refuse = (response: ServerResponse, code: ApiErrorCode, reason: string): void => {
    const requestId = randomUUID();
    observe.connectionRefused(requestId, reason);
    response.setHeader('X-Request-Id', requestId);
    response.setHeader('Connection', 'close');
    send(response, refusal(code));
  };
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const requestId = randomUUID();
    observe.connectionRefused(requestId, error.code ?? error.message);
    refuseOnSocket(socket as Socket, refusalOfParser(error.code), requestId);
  });
  server.on('checkExpectation', (_request, response) => {
    refuse(response, 'EXPECTATION_FAILED', 'expectation');
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
    async close(graceMs, drainMs = 0) {
      closing = true;
      for (const response of inFlight) if (!response.headersSent) response.setHeader('Connection', 'close');
      const drainedAtMs = performance.now() + drainMs;
      while (performance.now() < drainedAtMs && (await countConnections(server)) > 0)
        await abortableDelay(IDLE_CLOSED_EVERY_MS);
      await closeServer(server, graceMs);
    },
  };
}

function countConnections(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((error, count) => resolve(error ? 0 : count)));
}

function closeServer(server: Server, graceMs: number): Promise<void> {
  if (!server.listening) return Promise.resolve();
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), graceMs);
    // A connection becomes idle after its last response, but some clients keep it open.
    const idle = setInterval(() => server.closeIdleConnections(), IDLE_CLOSED_EVERY_MS);
    server.close(() => {
      clearTimeout(deadline);
      clearInterval(idle);
      resolve();
    });
    server.closeIdleConnections();
  });
}

function refusalOfParser(code: string | undefined): ApiErrorCode {
  if (code === 'HPE_HEADER_OVERFLOW') return 'HEADERS_TOO_LARGE';
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'REQUEST_TIMEOUT' : 'BAD_REQUEST';
}

/** Node passes the raw socket. A response that is being sent must not be interrupted. */
function refuseOnSocket(socket: Socket, code: ApiErrorCode, requestId: string): void {
  const inFlight = (socket as { _httpMessage?: { headersSent?: boolean } | null })._httpMessage;
  if (!socket.writable || inFlight?.headersSent === true) {
    socket.destroy();
    return;
  }
  const { status, body } = refusal(code);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `X-Request-Id: ${requestId}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
