import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** What one source was asked and answered since it was asked last. Bytes as they are on the connection, HTTP included. */
export interface CannedCounters {
  readonly calls: Record<string, number>;
  readonly requests: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly head: number;
}

/** A network whose answers are made beforehand. */
export interface CannedAnswers {
  /** @default application/json */
  readonly contentType?: string;
  /** Makes the blocks that are due. */
  moveHead(): void;
  head(): number;
  /** The parts of the body that answers a request, whose body is given as latin1; `count` is told each method that it asks for. */
  answer(path: string, body: string, count: (method: string) => void): readonly Buffer[];
}

/** What every description of a network has: its name, and how many ports serve it. */
export interface CannedDescription {
  readonly name: string;
  readonly sources: number;
  /** How long a connection is kept that nobody uses. @default that of Node's servers, 5 s */
  readonly keepAliveMs?: number;
}

interface Source {
  calls: Record<string, number>;
  requests: number;
  readonly sockets: Map<Socket, { read: number; written: number }>;
  closedBytes: { read: number; written: number };
}

async function serve(
  network: CannedAnswers,
  source: Source,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  network.moveHead();
  source.requests += 1;
  const parts = network.answer(request.url ?? '/', Buffer.concat(chunks).toString('latin1'), (method) => {
    source.calls[method] = (source.calls[method] ?? 0) + 1;
  });
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  response.writeHead(200, {
    'content-type': network.contentType ?? 'application/json',
    'content-length': length,
  });
  response.end(parts.length === 1 ? parts[0] : Buffer.concat(parts, length));
}

function countersOf(network: CannedAnswers, source: Source): CannedCounters {
  let { read, written } = source.closedBytes;
  for (const [socket, before] of source.sockets) {
    read += socket.bytesRead - before.read;
    written += socket.bytesWritten - before.written;
    source.sockets.set(socket, { read: socket.bytesRead, written: socket.bytesWritten });
  }
  const counters = {
    calls: source.calls,
    requests: source.requests,
    bytesIn: read,
    bytesOut: written,
    head: network.head(),
  };
  source.calls = {};
  source.requests = 0;
  source.closedBytes = { read: 0, written: 0 };
  return counters;
}

async function listen(
  network: CannedAnswers,
  { keepAliveMs }: CannedDescription,
): Promise<{ readonly port: number; readonly source: Source }> {
  const source: Source = { calls: {}, requests: 0, sockets: new Map(), closedBytes: { read: 0, written: 0 } };
  const server = createServer((request, response) => {
    serve(network, source, request, response).catch((error: unknown) => {
      process.stderr.write(`canned node: ${String(error)}\n`);
      response.destroy();
    });
  });
  if (keepAliveMs !== undefined) server.keepAliveTimeout = keepAliveMs;
  server.on('connection', (socket: Socket) => {
    source.sockets.set(socket, { read: 0, written: 0 });
    socket.on('close', () => {
      const before = source.sockets.get(socket) ?? { read: 0, written: 0 };
      source.closedBytes.read += socket.bytesRead - before.read;
      source.closedBytes.written += socket.bytesWritten - before.written;
      source.sockets.delete(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, source };
}

/**
 * Makes of this process one that serves the networks of its first message, each on the ports it answers with. Every other
 * message asks for the counters, which begin anew. Ends with its parent.
 */
export function serveCanned<D extends CannedDescription>(create: (description: D) => CannedAnswers): void {
  process.once('message', (networks: readonly D[]) => {
    void (async () => {
      const served = await Promise.all(
        networks.map(async (description) => {
          const network = create(description);
          const sources = [];
          for (let i = 0; i < description.sources; i += 1) sources.push(await listen(network, description));
          return { name: description.name, network, sources };
        }),
      );
      process.on('message', () => {
        process.send?.(
          Object.fromEntries(
            served.map(({ name, network, sources }) => [
              name,
              sources.map(({ source }) => countersOf(network, source)),
            ]),
          ),
        );
      });
      process.send?.(
        Object.fromEntries(served.map(({ name, sources }) => [name, sources.map(({ port }) => port)])),
      );
    })();
  });
  process.once('disconnect', () => process.exit(0));
}
