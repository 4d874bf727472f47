import { setTimeout as delay } from 'node:timers/promises';

export interface HeadSubscription {
  readonly url: string;
  /** A connection without messages for 20 blocks (at least 30 s) is closed. */
  readonly blockTimeMs: number;
  /** Delay before reconnecting, doubled after each failure up to 30 s; half of it is random. @default 1000 */
  readonly reconnectMs?: number;
  readonly silenceMs?: number;
  readonly random?: () => number;
}

const RECONNECT_MS = 1_000;
const RECONNECT_MS_MAX = 30_000;
const SILENCE_MS_MIN = 30_000;
const SILENCE_BLOCKS = 20;
/** Heads are short; a longer message is not from a node. */
const MESSAGE_CHARACTERS_MAX = 1_000_000;

/**
 * Calls `onHead` for every `newHeads` notice, and after each connect, since heads may have been missed. Never rejects:
 * retries an invalid URL or a server without subscriptions as well.
 */
export async function subscribeHeads(
  subscription: HeadSubscription,
  onHead: () => void,
  signal: AbortSignal,
): Promise<void> {
  const random = subscription.random ?? Math.random;
  const firstWaitMs = subscription.reconnectMs ?? RECONNECT_MS;
  let waitMs = firstWaitMs;
  while (!signal.aborted) {
    const heads = await listenOnce(subscription, onHead, signal);
    waitMs = heads > 0 ? firstWaitMs : Math.min(waitMs * 2, RECONNECT_MS_MAX);
    // Random, so that replicas do not reconnect all at once after their node restarts.
    await delay(waitMs / 2 + (waitMs / 2) * random(), undefined, { signal }).catch(() => undefined);
  }
}

async function listenOnce(
  subscription: HeadSubscription,
  onHead: () => void,
  signal: AbortSignal,
): Promise<number> {
  const socket = open(subscription.url);
  if (socket === undefined) return 0;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const stop = (): void => end();
  let heads = 0;
  const ownSilenceMs = Math.max(SILENCE_MS_MIN, SILENCE_BLOCKS * subscription.blockTimeMs);
  const silence = setTimeout(end, subscription.silenceMs ?? ownSilenceMs);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) end();
  socket.addEventListener('open', () => {
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] }));
  });
  socket.addEventListener('message', ({ data }) => {
    if (typeof data !== 'string' || data.length > MESSAGE_CHARACTERS_MAX) return end();
    if (data.includes('"eth_subscription"')) heads += 1;
    // The only other message confirms or rejects the subscription. A rejected one never brings a notice.
    else if (data.includes('"error"')) return end();
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

function open(url: string): WebSocket | undefined {
  try {
    return new WebSocket(url);
  } catch {
    return undefined;
  }
}
