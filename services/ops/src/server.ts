import { createServer, STATUS_CODES, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Observe } from './observe.ts';

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 15_000;
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const CONNECTIONS_MAX = 200;

/** Every wait has a timeout. */
export interface OpsServer {
  listen(port: number, host: string): Promise<number>;
  /** Requests in flight may complete within `graceMs`. */
  close(graceMs: number): Promise<void>;
}

export function createOpsServer(
  listener: RequestListener,
  observe: Pick<Observe, 'connectionRefused'>,
): OpsServer {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS }, (request, response) => {
    if (!server.listening) response.setHeader('Connection', 'close');
    listener(request, response);
  });
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.maxConnections = CONNECTIONS_MAX;
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    observe.connectionRefused(error.code ?? error.message);
    const status =
      error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
    if (socket.writable && socket.writableLength === 0) {
      socket.end(
        `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
      );
    } else socket.destroy();
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
    close: (graceMs) =>
      new Promise((resolve) => {
        if (!server.listening) return resolve();
        const deadline = setTimeout(() => server.closeAllConnections(), graceMs);
        server.close(() => {
          clearTimeout(deadline);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}
