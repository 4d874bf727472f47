import type { CollectionStatus, PayoutStatus } from './order-status.ts';

/** docs/api.md section 6. */
export type OrderNotifyType =
  | 'ORDER_PENDING'
  | 'ORDER_PENDING_CONFIRMATION'
  | 'ORDER_SUCCESS'
  | 'ORDER_EXPIRED'
  | 'ORDER_FAILED'
  | 'ORDER_REVERTED'
  | 'ORDER_UNMATCHED';

const BY_STATUS: { readonly [S in CollectionStatus | PayoutStatus]: OrderNotifyType } = {
  INIT: 'ORDER_PENDING',
  PENDING: 'ORDER_PENDING',
  PENDING_CONFIRMATION: 'ORDER_PENDING_CONFIRMATION',
  SUCCESS: 'ORDER_SUCCESS',
  EXPIRED: 'ORDER_EXPIRED',
  FAILED: 'ORDER_FAILED',
};

/** ORDER_REVERTED and ORDER_UNMATCHED are absent, because they change no status. */
export function notifyTypeOf(status: CollectionStatus | PayoutStatus): OrderNotifyType {
  return BY_STATUS[status];
}
