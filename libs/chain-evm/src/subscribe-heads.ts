import { setTimeout as delay } from 'node:timers/promises';

export interface HeadSubscription {
  /** `ws:` or `wss:`. */
  readonly url: string;
  /** Wait before connecting again, doubled after each failure up to 30 s. @default 1000 */
  readonly reconnectMs?: number;
  /** A connection that brings no head for so long is given up. @default 120000 */
  readonly silenceMs?: number;
}

const RECONNECT_MS = 1_000;
const RECONNECT_MS_MAX = 30_000;
const SILENCE_MS = 120_000;

/**
 * Calls `onHead` for every `newHeads` notice, and after each connecting, since heads may have been missed before.
 * What a notice says is not used: the reader asks for itself. Resolves when `signal` is aborted; never rejects.
 */
export async function subscribeHeads(
  subscription: HeadSubscription,
  onHead: () => void,
  signal: AbortSignal,
): Promise<void> {
  const firstWaitMs = subscription.reconnectMs ?? RECONNECT_MS;
  let waitMs = firstWaitMs;
  while (!signal.aborted) {
    const heads = await listenOnce(subscription, onHead, signal);
    waitMs = heads > 0 ? firstWaitMs : Math.min(waitMs * 2, RECONNECT_MS_MAX);
    await delay(waitMs, undefined, { signal }).catch(() => undefined);
  }
}

/** One connection from opening to its end; gives the number of notices it brought. */
async function listenOnce(
  subscription: HeadSubscription,
  onHead: () => void,
  signal: AbortSignal,
): Promise<number> {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const socket = new WebSocket(subscription.url);
  let heads = 0;
  const silence = setTimeout(end, subscription.silenceMs ?? SILENCE_MS);
  const stop = (): void => end();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) end();
  socket.addEventListener('open', () => {
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] }));
  });
  socket.addEventListener('message', (event) => {
    if (typeof event.data !== 'string') return;
    // The first message acknowledges the subscription, every later one is a head; both are reasons to look.
    if (event.data.includes('"eth_subscription"')) heads += 1;
    silence.refresh();
    onHead();
  });
  socket.addEventListener('error', stop);
  socket.addEventListener('close', stop);
  await ended;
  clearTimeout(silence);
  signal.removeEventListener('abort', stop);
  socket.close();
  return heads;
}
