import { GatewayError } from './gateway-error.ts';

/** Every status of a collection, in the order in which a paid one passes them, then the other ends. */
export const COLLECTION_STATUSES = [
  'INIT',
  'PENDING',
  'PENDING_CONFIRMATION',
  'SUCCESS',
  'EXPIRED',
  'FAILED',
] as const;
export type CollectionStatus = (typeof COLLECTION_STATUSES)[number];

/** Every status of a payout. A payout that ran out of time is FAILED: it never expires once signed. */
export const PAYOUT_STATUSES = ['INIT', 'PENDING', 'PENDING_CONFIRMATION', 'SUCCESS', 'FAILED'] as const;
export type PayoutStatus = (typeof PAYOUT_STATUSES)[number];

/** What moves a collection. */
export const COLLECTION_EVENTS = [
  /** Something came in time, not yet enough. */
  'partlyPaid',
  /** What came in time covers the order. */
  'covered',
  /** What covers the order has the required confirmations. */
  'confirmed',
  /** A reorganisation took so much back that the order is not covered any more. */
  'uncovered',
  /** A reorganisation took everything back. */
  'vanished',
  /** The chain's verified time is past the cutoff and the order is not covered. */
  'expired',
  /** The sums changed, the status did not. */
  'amountChanged',
  /** An operator took what came, although late or too little. */
  'accepted',
  /** An operator refused the order. */
  'refused',
] as const;
export type CollectionEvent = (typeof COLLECTION_EVENTS)[number];

/** What moves a payout. */
export const PAYOUT_EVENTS = [
  /** Signed bytes are stored and sent. */
  'broadcast',
  /** The transaction is in a block. */
  'mined',
  /** A reorganisation took it back; it is sent again. */
  'reorganised',
  /** It succeeded, at final depth. */
  'confirmed',
  /** It reverted at final depth, was proven unable to land, expired unsent or was refused. */
  'failed',
] as const;
export type PayoutEvent = (typeof PAYOUT_EVENTS)[number];

export type TransitionTable<Status extends string, Event extends string> = {
  readonly [S in Status]: { readonly [E in Event]?: Status };
};

/** The collection's rows of docs/api.md section 5. A pair that is absent is refused. */
export const COLLECTION_TRANSITIONS: TransitionTable<CollectionStatus, CollectionEvent> = {
  INIT: { partlyPaid: 'PENDING', expired: 'EXPIRED', refused: 'FAILED' },
  PENDING: {
    covered: 'PENDING_CONFIRMATION',
    vanished: 'INIT',
    expired: 'EXPIRED',
    amountChanged: 'PENDING',
    refused: 'FAILED',
  },
  PENDING_CONFIRMATION: {
    confirmed: 'SUCCESS',
    uncovered: 'PENDING',
    vanished: 'INIT',
    amountChanged: 'PENDING_CONFIRMATION',
    refused: 'FAILED',
  },
  SUCCESS: {},
  EXPIRED: {
    covered: 'PENDING_CONFIRMATION',
    amountChanged: 'EXPIRED',
    accepted: 'SUCCESS',
    refused: 'FAILED',
  },
  FAILED: {},
};

/** The payout's chain of docs/api.md section 5. */
export const PAYOUT_TRANSITIONS: TransitionTable<PayoutStatus, PayoutEvent> = {
  INIT: { broadcast: 'PENDING', failed: 'FAILED' },
  PENDING: { mined: 'PENDING_CONFIRMATION', failed: 'FAILED' },
  PENDING_CONFIRMATION: { confirmed: 'SUCCESS', failed: 'FAILED', reorganised: 'PENDING' },
  SUCCESS: {},
  FAILED: {},
};

export type OrderStatusErrorCode =
  /** The state table has no such move. A bug or a race that a row lock should have prevented; never retryable. */
  'ORDER_TRANSITION_REFUSED';

/**
 * The status that `event` leads to.
 * @throws GatewayError ORDER_TRANSITION_REFUSED when the table has no such pair
 */
export function nextStatus<Status extends string, Event extends string>(
  table: TransitionTable<Status, Event>,
  status: Status,
  event: Event,
): Status {
  const next = table[status][event];
  if (next === undefined) {
    throw new GatewayError<OrderStatusErrorCode>(
      'ORDER_TRANSITION_REFUSED',
      `an order that is ${status} does not move by ${event}`,
      { retryable: false, context: { status, event } },
    );
  }
  return next;
}

/** Whether nothing moves an order out of this status. */
export function isTerminal<Status extends string, Event extends string>(
  table: TransitionTable<Status, Event>,
  status: Status,
): boolean {
  return Object.keys(table[status]).length === 0;
}
