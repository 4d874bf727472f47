import type { Callback } from '@opentill/sdk/verify-callback';

/** A callback as the shop keeps it to show. */
export interface ReceivedCallback {
  readonly receivedAt: string;
  /** Only verified ones are kept. */
  readonly verified: true;
  readonly notifyType: string;
  readonly nonce: string;
  /** How often this nonce came before: at-least-once delivery repeats it. */
  readonly repeats: number;
  /** Empty of a sweep, which is of no order. */
  readonly orderId: string;
  readonly data: unknown;
}

/** The last callbacks, newest first. A real shop keeps the nonces in its database. */
export interface CallbackBook {
  keep(callback: Callback, receivedAt: Date): ReceivedCallback;
  list(): readonly ReceivedCallback[];
}

const KEPT_MAX = 5_000;
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

/** Remembers the last of the callbacks that the SDK has verified, and counts those that come again. */
export function createCallbackBook(): CallbackBook {
  const received: ReceivedCallback[] = [];
  const seen = new Map<string, number>();
  return {
    keep({ notifyType, nonce, data }, receivedAt) {
      const repeats = seen.get(nonce) ?? 0;
      seen.set(nonce, repeats + 1);
      const callback: ReceivedCallback = {
        receivedAt: receivedAt.toISOString(),
        verified: true,
        notifyType,
        nonce,
        repeats,
        orderId: 'orderId' in data ? data.orderId : '',
        data,
      };
      received.unshift(callback);
      for (const dropped of received.splice(KEPT_MAX)) seen.delete(dropped.nonce);
      return callback;
    },
    list: () => received,
  };
}
