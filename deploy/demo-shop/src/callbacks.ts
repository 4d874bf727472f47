import { createHmac, timingSafeEqual } from 'node:crypto';

/** A callback as the shop keeps it to show. */
export interface ReceivedCallback {
  readonly receivedAt: string;
  /** Only verified ones are kept. */
  readonly verified: true;
  readonly notifyType: string;
  readonly nonce: string;
  /** How often this nonce came before: at-least-once delivery repeats it. */
  readonly repeats: number;
  readonly orderId: string;
  readonly data: unknown;
}

/** The last callbacks, newest first. A real shop keeps the nonces in its database. */
export interface CallbackBook {
  /** Keeps a callback that is genuine and fresh; of what is not, nothing is kept or counted. */
  receive(rawBody: Buffer, receivedAt: Date): ReceivedCallback | 'NOT_A_CALLBACK' | 'NOT_GENUINE';
  list(): readonly ReceivedCallback[];
}

const KEPT_MAX = 5_000;
/** How far the time of a delivery may be off: what is older was recorded by somebody and played again. */
const TIMESTAMP_WINDOW_SECONDS = 300;
/** The order is done with; of these only an expired one may still be paid, or failed. */
const CLOSED: ReadonlySet<string> = new Set(['ORDER_SUCCESS', 'ORDER_EXPIRED', 'ORDER_FAILED']);

/**
 * What a callback makes of the shop's order. Callbacks come at least once: one that came before changes nothing, and
 * none puts a closed order back.
 */
export function nextOrderStatus(
  current: string,
  callback: Pick<ReceivedCallback, 'notifyType' | 'repeats'>,
): string {
  if (callback.repeats > 0 || current === 'ORDER_SUCCESS' || current === 'ORDER_FAILED') return current;
  return current === 'ORDER_EXPIRED' && !CLOSED.has(callback.notifyType) ? current : callback.notifyType;
}

/** Verifies callbacks as api.md section 6 says and remembers the last of them. */
export function createCallbackBook(webhookSecret: string): CallbackBook {
  const received: ReceivedCallback[] = [];
  const seen = new Map<string, number>();
  return {
    receive(rawBody, receivedAt) {
      const text = rawBody.toString('utf8');
      const envelope = parseEnvelope(text);
      if (envelope === undefined) return 'NOT_A_CALLBACK';
      const ageSeconds = Math.abs(receivedAt.getTime() / 1000 - envelope.timestamp);
      if (ageSeconds > TIMESTAMP_WINDOW_SECONDS || !verify(webhookSecret, text, envelope.sign)) {
        return 'NOT_GENUINE';
      }
      // The signature covers `data` alone: what closes an order must say so there as well.
      if (CLOSED.has(envelope.notifyType) && envelope.notifyType !== `ORDER_${statusOf(envelope.data)}`) {
        return 'NOT_GENUINE';
      }
      const repeats = seen.get(envelope.nonce) ?? 0;
      seen.set(envelope.nonce, repeats + 1);
      const callback: ReceivedCallback = {
        receivedAt: receivedAt.toISOString(),
        verified: true,
        notifyType: envelope.notifyType,
        nonce: envelope.nonce,
        repeats,
        orderId: orderIdOf(envelope.data),
        data: envelope.data,
      };
      received.unshift(callback);
      for (const dropped of received.splice(KEPT_MAX)) seen.delete(dropped.nonce);
      return callback;
    },
    list: () => received,
  };
}

interface Envelope {
  readonly sign: string;
  /** When this attempt to deliver was made. */
  readonly timestamp: number;
  readonly nonce: string;
  readonly notifyType: string;
  readonly data: unknown;
}

function parseEnvelope(text: string): Envelope | undefined {
  try {
    const body = JSON.parse(text) as Partial<Envelope>;
    const { sign, timestamp, nonce, notifyType, data } = body;
    if (typeof sign !== 'string' || typeof nonce !== 'string' || typeof notifyType !== 'string')
      return undefined;
    if (typeof timestamp !== 'number') return undefined;
    return { sign, timestamp, nonce, notifyType, data };
  } catch {
    return undefined;
  }
}

/** The signed bytes are `data` exactly as it stands in the body; it is the last member of the envelope. */
function verify(secret: string, text: string, sign: string): boolean {
  const marker = '"data":';
  const start = text.indexOf(marker);
  const data = text.slice(start + marker.length, text.lastIndexOf('}'));
  const expected = createHmac('sha256', secret).update(data).digest();
  const given = Buffer.from(sign, 'hex');
  return start > 0 && given.length === expected.length && timingSafeEqual(given, expected);
}

function statusOf(data: unknown): string {
  return String((data as { status?: unknown } | null)?.status);
}

function orderIdOf(data: unknown): string {
  const orderId = (data as { orderId?: unknown } | null)?.orderId;
  return typeof orderId === 'string' ? orderId : '';
}
