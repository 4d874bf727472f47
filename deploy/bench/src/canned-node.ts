import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createCannedChain, type CannedChain, type CannedChainPlan } from './canned-chain.ts';

/** One network of a canned node; it gets a port for each source. */
export interface CannedNetwork {
  readonly name: string;
  readonly chainId: number;
  readonly decimals: number;
  readonly chain: CannedChainPlan;
  readonly sources: number;
  /** The head when the node is ready. Blocks up to it are made before. */
  readonly firstHeight: number;
  /** A block more every so many milliseconds; 0: the head stays. */
  readonly blockEveryMs: number;
  /** `finalized` is so many blocks below the head, and moves in steps of so many. */
  readonly finalityLagBlocks: number;
  readonly finalityStepBlocks: number;
}

/** What one source was asked and answered since it was asked last. Bytes as they are on the connection, HTTP included. */
export interface CannedCounters {
  readonly calls: Record<string, number>;
  readonly requests: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly head: number;
}

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}
interface Source {
  calls: Record<string, number>;
  requests: number;
  readonly sockets: Map<Socket, { read: number; written: number }>;
  closedBytes: { read: number; written: number };
}

const KEPT_BLOCKS = 400;
const [OPEN, CLOSE, COMMA] = [Buffer.from('['), Buffer.from(']'), Buffer.from(',')];
const text = (value: string): readonly Buffer[] => [Buffer.from(value, 'latin1')];
const NULL = text('null');

/** A network's head, and its answers. */
function createCannedNetwork(network: CannedNetwork) {
  const chain: CannedChain = createCannedChain(network.chain);
  for (let height = 0; height <= network.firstHeight; height += 1) chain.block(height);
  const startedAt = performance.now();
  let head = network.firstHeight;

  function moveHead(): void {
    if (network.blockEveryMs === 0) return;
    const due = network.firstHeight + Math.floor((performance.now() - startedAt) / network.blockEveryMs);
    for (; head < due; head += 1) chain.block(head + 1);
    chain.forgetBelow(head - KEPT_BLOCKS);
  }

  function heightOf(tag: unknown): number {
    if (tag === 'latest') return head;
    if (tag !== 'finalized') return Number(tag);
    const { finalityLagBlocks: lag, finalityStepBlocks: step } = network;
    return Math.max(0, Math.floor((head - lag) / step) * step);
  }

  function logs({ fromBlock, toBlock, blockHash }: Readonly<Record<string, unknown>>): readonly Buffer[] {
    const one = typeof blockHash === 'string' ? chain.heightOf(blockHash) : undefined;
    const [from, to] = one === undefined ? [Number(fromBlock), heightOf(toBlock)] : [one, one];
    const parts: Buffer[] = [OPEN];
    for (let height = from; height <= Math.min(to, head); height += 1) {
      const block = chain.block(height);
      if (block.logs.length === 0) continue;
      if (parts.length > 1) parts.push(COMMA);
      parts.push(block.logs);
    }
    parts.push(CLOSE);
    return parts;
  }

  function block(height: number | undefined): readonly Buffer[] {
    return height === undefined || height > head ? NULL : [chain.block(height).header];
  }

  function answer({ method, params }: Call): readonly Buffer[] {
    const [first] = params;
    switch (method) {
      case 'eth_chainId':
        return text(`"0x${network.chainId.toString(16)}"`);
      case 'eth_blockNumber':
        return text(`"0x${head.toString(16)}"`);
      case 'eth_getCode':
        return text('"0x6080604052"');
      case 'eth_call':
        return text(`"0x${network.decimals.toString(16).padStart(64, '0')}"`);
      case 'eth_getBlockByNumber':
        return block(heightOf(first));
      case 'eth_getBlockByHash':
        return block(chain.heightOf(String(first)));
      case 'eth_getLogs':
        return logs(first as Readonly<Record<string, unknown>>);
      case 'eth_getTransactionReceipt':
        return text(chain.receipt(String(first)) ?? 'null');
      case 'eth_getBlockReceipts': {
        const height =
          typeof first === 'string' && first.length === 66 ? chain.heightOf(first) : heightOf(first);
        return height === undefined ? NULL : [chain.receiptsOf(chain.block(height))];
      }
      default:
        throw new Error(`not canned: ${method}`);
    }
  }
  return { moveHead, answer, head: () => head };
}

type Network = ReturnType<typeof createCannedNetwork>;

async function serve(
  network: Network,
  source: Source,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = JSON.parse(Buffer.concat(chunks).toString('latin1')) as Call | readonly Call[];
  network.moveHead();
  source.requests += 1;
  const calls = Array.isArray(body) ? (body as readonly Call[]) : [body as Call];
  const parts: Buffer[] = Array.isArray(body) ? [OPEN] : [];
  calls.forEach((call, place) => {
    source.calls[call.method] = (source.calls[call.method] ?? 0) + 1;
    parts.push(
      Buffer.from(`${place === 0 ? '' : ','}{"jsonrpc":"2.0","id":${call.id},"result":`),
      ...network.answer(call),
      Buffer.from('}'),
    );
  });
  if (Array.isArray(body)) parts.push(CLOSE);
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': length });
  response.end(Buffer.concat(parts, length));
}

function countersOf(network: Network, source: Source): CannedCounters {
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

async function listen(network: Network): Promise<{ readonly port: number; readonly source: Source }> {
  const source: Source = { calls: {}, requests: 0, sockets: new Map(), closedBytes: { read: 0, written: 0 } };
  const server = createServer((request, response) => {
    serve(network, source, request, response).catch((error: unknown) => {
      process.stderr.write(`canned node: ${String(error)}\n`);
      response.destroy();
    });
  });
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
 * A process that serves the networks of its first message, each on the ports it answers with. Every other message asks
 * for the counters, which begin anew. Ends with its parent.
 */
process.once('message', (networks: readonly CannedNetwork[]) => {
  void (async () => {
    const served = await Promise.all(
      networks.map(async (description) => {
        const network = createCannedNetwork(description);
        const sources = [];
        for (let i = 0; i < description.sources; i += 1) sources.push(await listen(network));
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
