import { createHmac, timingSafeEqual } from 'node:crypto';

/** A callback as the shop keeps it to show. */
export interface ReceivedCallback {
  readonly receivedAt: string;
  readonly verified: boolean;
  readonly notifyType: string;
  readonly nonce: string;
  /** How often this nonce came before: at-least-once delivery repeats it. */
  readonly repeats: number;
  readonly orderId: string;
  readonly data: unknown;
}

/** The last callbacks, newest first. A real shop keeps the nonces in its database. */
export interface CallbackBook {
  receive(rawBody: Buffer, receivedAt: Date): ReceivedCallback | undefined;
  list(): readonly ReceivedCallback[];
}

const KEPT_MAX = 5_000;

/** Verifies callbacks as api.md section 6 says and remembers the last of them. */
export function createCallbackBook(webhookSecret: string): CallbackBook {
  const received: ReceivedCallback[] = [];
  const seen = new Map<string, number>();
  return {
    receive(rawBody, receivedAt) {
      const text = rawBody.toString('utf8');
      const envelope = parseEnvelope(text);
      if (envelope === undefined) return undefined;
      const repeats = seen.get(envelope.nonce) ?? 0;
      seen.set(envelope.nonce, repeats + 1);
      const callback: ReceivedCallback = {
        receivedAt: receivedAt.toISOString(),
        verified: verify(webhookSecret, text, envelope.sign),
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
  readonly nonce: string;
  readonly notifyType: string;
  readonly data: unknown;
}

function parseEnvelope(text: string): Envelope | undefined {
  try {
    const body = JSON.parse(text) as Partial<Envelope>;
    const { sign, nonce, notifyType, data } = body;
    if (typeof sign !== 'string' || typeof nonce !== 'string' || typeof notifyType !== 'string')
      return undefined;
    return { sign, nonce, notifyType, data };
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

function orderIdOf(data: unknown): string {
  const orderId = (data as { orderId?: unknown } | null)?.orderId;
  return typeof orderId === 'string' ? orderId : '';
}
