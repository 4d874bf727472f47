import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { signedCollection } from './signed-request.ts';

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

export interface PaymentLoad {
  readonly apiUrl: string;
  readonly shopUrl: string;
  readonly token: string;
  readonly paymentsPerSecond: number;
  readonly seconds: number;
}

/** Creates orders and pays them evenly over time; answers the order ids once every payment is sent. */
export async function payEvenly(load: PaymentLoad): Promise<string[]> {
  const run = Math.random().toString(36).slice(2, 8);
  const count = load.paymentsPerSecond * load.seconds;
  const addresses: { orderId: string; address: string }[] = [];
  for (let i = 0; i < count; i += 1) addresses.push(await createOrder(load, `${run}-${i}`, i));
  const startedAt = performance.now();
  const sent: Promise<void>[] = [];
  for (const [i, { address }] of addresses.entries()) {
    const dueAtMs = startedAt + (i * 1000) / load.paymentsPerSecond;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueAtMs - performance.now())));
    sent.push(pay(load.shopUrl, address));
  }
  await Promise.all(sent);
  return addresses.map(({ orderId }) => orderId);
}

async function createOrder(
  load: PaymentLoad,
  orderId: string,
  i: number,
): Promise<{ orderId: string; address: string }> {
  const response = await fetch(`${load.apiUrl}/v1/order/createCollection`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': `10.1.${(i >> 8) & 255}.${i & 255}` },
    body: signedCollection(load.token, orderId),
  });
  const answer = (await response.json()) as { code: number; msg: string; data: { address: string } };
  if (answer.code !== 200) throw new Error(`createCollection was refused: ${answer.code} ${answer.msg}`);
  return { orderId, address: answer.data.address };
}

async function pay(shopUrl: string, to: string): Promise<void> {
  const response = await fetch(`${shopUrl}/devnet/pay`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ chain: 'ETH_SEPOLIA', symbol: 'USDT', to, amount: '12.50' }),
  });
  if (!response.ok) throw new Error(`the payment was refused: ${await response.text()}`);
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
