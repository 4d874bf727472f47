import type { Callback } from '@opentill/sdk/verify-callback';

export interface ReceivedCallback {
  readonly receivedAt: string;
  readonly verified: true;
  readonly notifyType: string;
  readonly nonce: string;
  /** Earlier callbacks with this nonce: delivery is at least once. */
  readonly repeats: number;
  /** Empty for a sweep, which belongs to no order. */
  readonly orderId: string;
  readonly data: unknown;
  /** Outcome of the copy for a program of the developer; undefined without one. */
  forwarded?: string;
}

/** The latest callbacks, newest first. A real shop stores the nonces in its database. */
export interface CallbackBook {
  keep(callback: Callback, receivedAt: Date): ReceivedCallback;
  list(): readonly ReceivedCallback[];
}

const KEPT_MAX = 5_000;
/** Final statuses, except that an expired order can still succeed or fail. */
const CLOSED: ReadonlySet<string> = new Set(['ORDER_SUCCESS', 'ORDER_EXPIRED', 'ORDER_FAILED']);

/**
 * Status of the order after a callback. A repeated callback and ORDER_UNMATCHED change no order, and a closed order does
 * not reopen.
 */
export function nextOrderStatus(
  current: string,
  callback: Pick<ReceivedCallback, 'notifyType' | 'repeats'>,
): string {
  if (callback.repeats > 0 || callback.notifyType === 'ORDER_UNMATCHED') return current;
  if (current === 'ORDER_SUCCESS' || current === 'ORDER_FAILED') return current;
  return current === 'ORDER_EXPIRED' && !CLOSED.has(callback.notifyType) ? current : callback.notifyType;
}

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
