import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A callback with the moment it arrived, on this process's clock. */
interface Arrival {
  readonly atMs: number;
  readonly notifyType: string;
  readonly orderId: string;
  readonly blockNum: number;
}

export interface CallbackRecorder {
  readonly url: string;
  readonly arrivals: Arrival[];
  close(): Promise<void>;
}

/** A receiver that answers at once and notes when each callback came. */
export async function recordCallbacks(): Promise<CallbackRecorder> {
  const arrivals: Arrival[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const atMs = performance.now();
      response.end();
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
        notifyType: string;
        data: { orderId: string; transaction: { blockNum: number } | null };
      };
      const { orderId, transaction } = body.data;
      arrivals.push({ atMs, notifyType: body.notifyType, orderId, blockNum: transaction?.blockNum ?? -1 });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/callbacks`,
    arrivals,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Notes when each block became visible at the node, by a subscription of its own. */
export async function recordHeads(
  wsUrl: string,
): Promise<{ visibleAtMs: ReadonlyMap<number, number>; close(): void }> {
  const visibleAtMs = new Map<number, number>();
  const socket = new WebSocket(wsUrl);
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve(), { once: true });
    socket.addEventListener('error', () => reject(new Error(`no WebSocket at ${wsUrl}`)), { once: true });
  });
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as { params?: { result?: { number?: string } } };
    const number = message.params?.result?.number;
    if (number !== undefined) visibleAtMs.set(Number(number), performance.now());
  });
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] }));
  return { visibleAtMs, close: () => socket.close() };
}

/** Milliseconds from a block's visibility to the callback, for each order's callback of a type; sorted. */
export function latenciesMs(
  arrivals: readonly Arrival[],
  visibleAtMs: ReadonlyMap<number, number>,
  notifyType: string,
  orderIds: readonly string[],
  blocksLater = 0,
): number[] {
  const wanted = new Set(orderIds);
  return arrivals
    .filter((a) => a.notifyType === notifyType && wanted.has(a.orderId))
    .flatMap((a) => {
      const visible = visibleAtMs.get(a.blockNum + blocksLater);
      return visible === undefined ? [] : [a.atMs - visible];
    })
    .sort((a, b) => a - b);
}

/** The value below which `share` of the sorted values lie. */
export function quantile(sorted: readonly number[], share: number): number {
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return value === undefined ? Number.NaN : Math.round(value * 10) / 10;
}
