import { GatewayError } from './gateway-error.ts';

/** A paid order passes these in order; the other ends follow. */
export const COLLECTION_STATUSES = [
  'INIT',
  'PENDING',
  'PENDING_CONFIRMATION',
  'SUCCESS',
  'EXPIRED',
  'FAILED',
] as const;
export type CollectionStatus = (typeof COLLECTION_STATUSES)[number];

/** An expired payout is FAILED. It never expires while a signed transaction may land. */
export const PAYOUT_STATUSES = ['INIT', 'PENDING', 'PENDING_CONFIRMATION', 'SUCCESS', 'FAILED'] as const;
export type PayoutStatus = (typeof PAYOUT_STATUSES)[number];

export const COLLECTION_EVENTS = [
  /** In time, but less than the order's amount. */
  'partlyPaid',
  'covered',
  'confirmed',
  'uncovered',
  'vanished',
  /** The chain's verified time is past the cutoff and the order is not covered. */
  'expired',
  /** The sums changed, but not the status. */
  'amountChanged',
  /** An operator accepted money that came late or was too little. */
  'accepted',
  'refused',
] as const;
export type CollectionEvent = (typeof COLLECTION_EVENTS)[number];

export const PAYOUT_EVENTS = [
  /** Signed bytes are stored and sent. */
  'broadcast',
  'mined',
  /** A reorganisation removed its transaction, which is sent again. */
  'reorganised',
  'confirmed',
  /** Failed at final depth, proven dead, expired unsent, or refused. */
  'failed',
] as const;
export type PayoutEvent = (typeof PAYOUT_EVENTS)[number];

export type TransitionTable<Status extends string, Event extends string> = {
  readonly [S in Status]: { readonly [E in Event]?: Status };
};

/** docs/api.md section 5. An absent pair is an error. */
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

export const PAYOUT_TRANSITIONS: TransitionTable<PayoutStatus, PayoutEvent> = {
  INIT: { broadcast: 'PENDING', failed: 'FAILED' },
  PENDING: { mined: 'PENDING_CONFIRMATION', failed: 'FAILED' },
  PENDING_CONFIRMATION: { confirmed: 'SUCCESS', failed: 'FAILED', reorganised: 'PENDING' },
  SUCCESS: {},
  FAILED: {},
};

export type OrderStatusErrorCode =
  /** A bug, or a race that a row lock should prevent. Never retryable. */
  'ORDER_TRANSITION_REFUSED';

/** @throws GatewayError ORDER_TRANSITION_REFUSED if the table has no such pair */
export function nextStatus<Status extends string, Event extends string>(
  table: TransitionTable<Status, Event>,
  status: Status,
  event: Event,
): Status {
  const next = table[status][event];
  if (next === undefined) {
    throw new GatewayError<OrderStatusErrorCode>(
      'ORDER_TRANSITION_REFUSED',
      `order status ${status} has no transition for ${event}`,
      { retryable: false, context: { status, event } },
    );
  }
  return next;
}

export function isTerminal<Status extends string, Event extends string>(
  table: TransitionTable<Status, Event>,
  status: Status,
): boolean {
  return Object.keys(table[status]).length === 0;
}
