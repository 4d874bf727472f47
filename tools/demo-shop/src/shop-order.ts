export interface ShopOrder {
  readonly orderId: string;
  /** Id of the product; undefined for a payout. */
  readonly productId?: string;
  /** Product, or receiver of a payout. */
  readonly title: string;
  readonly amount: string;
  readonly symbol: string;
  readonly chain: string;
  readonly createdAt: string;
  /** Null for a payout. */
  readonly paymentUrl: string | null;
  /** `created`, then the type of the latest callback. */
  status: string;
  /** Transaction of the test customer, once sent. */
  txid?: string;
}

/** Phase of an order, for its colour and its words. */
export type Mood = 'open' | 'good' | 'bad';

const WORDS: Readonly<Record<string, readonly [collection: string, payout: string, mood: Mood]>> = {
  created: ['Waiting for payment', 'Requested', 'open'],
  ORDER_PENDING: ['Waiting for payment', 'On its way', 'open'],
  ORDER_PENDING_CONFIRMATION: ['Payment seen, confirming', 'In a block, confirming', 'open'],
  ORDER_SUCCESS: ['Paid', 'Sent', 'good'],
  ORDER_EXPIRED: ['Expired', 'Expired', 'bad'],
  ORDER_FAILED: ['Failed', 'Failed', 'bad'],
};

export const isPayout = (order: ShopOrder): boolean => order.paymentUrl === null;

/** Status in words; an unknown callback type is shown unchanged. */
export function statusOf(order: ShopOrder): { readonly words: string; readonly mood: Mood } {
  const [collection, payout, mood] = WORDS[order.status] ?? [order.status, order.status, 'open'];
  return { words: isPayout(order) ? payout : collection, mood };
}

/** True for an unpaid or underpaid order whose payment the test customer has not sent. */
export function isPayable(order: ShopOrder): boolean {
  const isOpen = order.status === 'created' || order.status === 'ORDER_PENDING';
  return isOpen && order.txid === undefined && !isPayout(order);
}
