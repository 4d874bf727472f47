import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { answerParent } from '../child.ts';
import { createCannedChain } from './chains.ts';
import type { CannedChain, CannedPlan, Heads } from './plan.ts';

export interface CannedNetwork {
  readonly name: string;
  readonly plan: CannedPlan;
  /** Height of the newest block at the start. Blocks up to it are prepared in advance. */
  readonly firstHeight: number;
  /** Block time in ms; 0 produces no further blocks. */
  readonly blockEveryMs: number;
  /** The final block is this far below the newest and advances in steps. */
  readonly finalityLagBlocks: number;
  readonly finalityStepBlocks: number;
  /** Idle time after which a connection is closed. @default 5 s, as in Node's servers */
  readonly keepAliveMs?: number;
}

/** Traffic of one source since the last count. Bytes include HTTP headers. */
export interface SourceCount {
  readonly calls: Record<string, number>;
  readonly requests: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly head: number;
}

export type NodeRequest =
  { readonly ask: 'serve'; readonly networks: readonly CannedNetwork[] } | { readonly ask: 'count' };

const SOURCES = 2;
const KEPT_BLOCKS = 400;
const NOTICE_MS = 50;

interface Source {
  readonly port: number;
  take(): SourceCount;
}
const served = new Map<string, readonly Source[]>();

function startHead(chain: CannedChain, network: CannedNetwork): () => Heads {
  const { firstHeight, blockEveryMs, finalityLagBlocks: lag, finalityStepBlocks: step } = network;
  for (let height = 0; height <= firstHeight; height += 1) chain.make(height);
  const startedAt = performance.now();
  let latest = firstHeight;
  return () => {
    const blocksSince = blockEveryMs === 0 ? 0 : Math.floor((performance.now() - startedAt) / blockEveryMs);
    for (; latest < firstHeight + blocksSince; latest += 1) {
      chain.make(latest + 1);
      // Block 0 identifies the chain and is never dropped.
      if (latest + 1 > KEPT_BLOCKS) chain.forget(latest + 1 - KEPT_BLOCKS);
    }
    return { latest, final: Math.max(0, Math.floor((latest - lag) / step) * step) };
  };
}

async function listen(
  chain: CannedChain,
  heads: () => Heads,
  keepAliveMs: number | undefined,
): Promise<Source> {
  let calls: Record<string, number> = {};
  let requests = 0;
  const sockets = new Set<Socket>();
  let closed = { in: 0, out: 0 };
  let before = { in: 0, out: 0 };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    requests += 1;
    const body = Buffer.concat(chunks).toString('latin1');
    if (chain.notice?.(request.url ?? '/', heads().latest) !== undefined)
      return stream(request.url ?? '/', response);
    const parts = chain.answer(request.url ?? '/', body, heads(), (method) => {
      calls[method] = (calls[method] ?? 0) + 1;
    });
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    response.writeHead(200, {
      'content-type': chain.contentType,
      'content-length': length,
      ...chain.headersOf?.(request.url ?? '/'),
    });
    response.end(parts.length === 1 ? parts[0] : Buffer.concat(parts, length));
  };
  function stream(path: string, response: ServerResponse): void {
    calls['subscription'] = (calls['subscription'] ?? 0) + 1;
    response.writeHead(200, { 'content-type': chain.contentType });
    let sent = heads().latest;
    const timer = setInterval(() => {
      for (const { latest } = heads(); sent < latest; sent += 1)
        response.write(chain.notice?.(path, sent + 1));
    }, NOTICE_MS);
    response.on('close', () => clearInterval(timer));
  }
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      process.stderr.write(`canned node: ${String(error)}\n`);
      response.destroy();
    });
  });
  if (keepAliveMs !== undefined) server.keepAliveTimeout = keepAliveMs;
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => {
      closed = { in: closed.in + socket.bytesRead, out: closed.out + socket.bytesWritten };
      sockets.delete(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    take() {
      const all = { ...closed };
      for (const { bytesRead, bytesWritten } of sockets) {
        all.in += bytesRead;
        all.out += bytesWritten;
      }
      const bytes = { bytesIn: all.in - before.in, bytesOut: all.out - before.out };
      const count = { calls, requests, ...bytes, head: heads().latest };
      [before, calls, requests] = [all, {}, 0];
      return count;
    },
  };
}

async function answer(request: NodeRequest): Promise<object> {
  if (request.ask === 'count')
    return Object.fromEntries([...served].map(([name, sources]) => [name, sources.map((one) => one.take())]));
  for (const network of request.networks) {
    const chain = createCannedChain(network.plan);
    const heads = startHead(chain, network);
    const listening = Array.from({ length: SOURCES }, () => listen(chain, heads, network.keepAliveMs));
    served.set(network.name, await Promise.all(listening));
  }
  return Object.fromEntries([...served].map(([name, sources]) => [name, sources.map(({ port }) => port)]));
}

answerParent(answer);
