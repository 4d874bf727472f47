import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { createServer as createHttp2Server, type Http2Server } from 'node:http2';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { answerNative } from './answer-native.ts';
import { answerWeb, type RunControl } from './answer-web.ts';
import type { Node } from './node.ts';
import { createMethods } from './run-call.ts';

export type { RunControl } from './answer-web.ts';

export interface NodeServer {
  readonly url: string;
  dropConnections(): void;
  close(): Promise<void>;
}

/** Longer than clients keep idle connections: the client must close first, or its next request may fail. */
const KEEP_ALIVE_MS = 120_000;
/** First bytes of an HTTP/2 connection. */
const HTTP2_PREFACE = 'PRI';

/** Serves a node on one port: gRPC-web over HTTP/1.1, the clients' default; gRPC over HTTP/2; `POST /devnet/<name>`. */
export async function serveNode(options: {
  readonly node: Node;
  readonly host: string;
  readonly port: number;
  readonly runControl: RunControl;
}): Promise<NodeServer> {
  const methods = createMethods();
  const deps = { node: options.node, methods, runControl: options.runControl };
  const http = createHttpServer((request, response) => {
    answerWeb(deps, request, response).catch(() => response.destroy());
  });
  http.keepAliveTimeout = KEEP_ALIVE_MS;
  const http2 = createHttp2Server();
  http2.on('stream', (stream, headers) => {
    answerNative(deps, stream, headers).catch(() => stream.destroy());
  });
  http2.on('sessionError', () => {});
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    // Sockets passed to a server do not inherit its setting. Without it, responses wait for TCP acknowledgements.
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    handOver(socket, http, http2);
  });
  await listen(server, options.port, options.host);
  const { port } = server.address() as AddressInfo;
  const dropConnections = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://${options.host}:${port}`,
    dropConnections,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      dropConnections();
      await closed;
    },
  };
}

function handOver(socket: Socket, http: HttpServer, http2: Http2Server): void {
  socket.once('readable', () => {
    const first = socket.read() as Buffer | null;
    if (first === null) return;
    socket.unshift(first);
    const isHttp2 = first.subarray(0, HTTP2_PREFACE.length).toString('latin1') === HTTP2_PREFACE;
    (isHttp2 ? http2 : http).emit('connection', socket);
  });
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
}
