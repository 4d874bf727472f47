import type { BaseUnits } from './money.ts';
import { notifyTypeOf, type OrderNotifyType } from './notify-type.ts';
import { nextStatus, PAYOUT_TRANSITIONS, type PayoutEvent, type PayoutStatus } from './order-status.ts';

/** Reasons that the rules give; what the signer's policy says is any other text. */
export const PAYOUT_REASONS = {
  reorganised: 'Reorganised',
  expired: 'Payout expired',
  refusedByOperator: 'Refused by operator',
  transactionFailed: 'Transaction failed',
} as const;

/** How far the signer is (table payout). */
export type SigningState = 'REQUESTED' | 'AUTHORISED' | 'SIGNED' | 'REFUSED' | 'EXPIRED';

/** What the chain made of a transaction (table own_transaction_fate). */
export type FateState = 'MINED' | 'VERIFIED' | 'ORPHANED';

export interface FateFact {
  readonly state: FateState;
  /** By the receipt's status. */
  readonly succeeded: boolean;
  /** Of the payout's token, from the wallet to the receiver, by the receipt's logs. */
  readonly delivered: BaseUnits;
}

/** What is known of a payout, read in one snapshot. */
export interface PayoutFacts {
  readonly signing: SigningState;
  /** Why it is REFUSED or EXPIRED. */
  readonly signingReason: string | null;
  /** A first broadcast was attempted and noted. */
  readonly sent: boolean;
  /** Of those of its transactions that were in a block once. */
  readonly fates: readonly FateFact[];
}

/** What changes of a payout's order. */
export interface PayoutOrderState {
  readonly status: PayoutStatus;
  readonly reason: string | null;
  /** What the receiver got, at SUCCESS; null before and otherwise. */
  readonly actualAmount: BaseUnits | null;
}

/** One move of a payout's order, and what the merchant hears of it. */
export interface PayoutStep {
  readonly event: PayoutEvent;
  readonly next: PayoutOrderState;
  readonly notify: OrderNotifyType;
}

/**
 * What a fate amounts to. Only a verified one ends a payout: LANDED when something was delivered, which the logs say and
 * not the status alone; FAILED otherwise. IN_BLOCK may still be taken back, GONE was.
 */
export type FateVerdict = 'LANDED' | 'FAILED' | 'IN_BLOCK' | 'GONE';

export function verdictOf({ state, succeeded, delivered }: FateFact): FateVerdict {
  if (state === 'ORPHANED') return 'GONE';
  if (state === 'MINED') return 'IN_BLOCK';
  return succeeded && delivered > 0n ? 'LANDED' : 'FAILED';
}

/** Longer than any chain of moves that the rules allow from one set of facts (three). */
const STEPS_MAX = 6;

/**
 * All moves that `facts` ask for, in order; none when the order already says what the facts say. The merchant hears of
 * each of them, also of those that were over when the tracker came to look.
 *
 * Facts, not events: called again, late, or for the last event only, the order ends in the same state. Only SUCCESS and
 * FAILED remember the past: they stay, whatever the chain does.
 */
export function settlePayout(state: PayoutOrderState, facts: PayoutFacts): readonly PayoutStep[] {
  const steps: PayoutStep[] = [];
  let current = state;
  for (;;) {
    const step = decidePayout(current, facts);
    if (step === undefined) return steps;
    if (steps.length === STEPS_MAX) throw new RangeError(`no end of moves from ${state.status}`);
    steps.push(step);
    current = step.next;
  }
}

/** The next move that `facts` ask for, or undefined when there is none. Pure and idempotent. */
function decidePayout(state: PayoutOrderState, facts: PayoutFacts): PayoutStep | undefined {
  switch (state.status) {
    case 'INIT':
      return decideUnsent(state, facts);
    case 'PENDING':
      return facts.fates.some((fate) => verdictOf(fate) !== 'GONE')
        ? step(state, 'mined')
        : decideEnded(state, facts);
    case 'PENDING_CONFIRMATION':
      return decideMined(state, facts);
    case 'SUCCESS':
    case 'FAILED':
      return undefined;
  }
}

function decideUnsent(state: PayoutOrderState, facts: PayoutFacts): PayoutStep | undefined {
  // What was in a block was sent, whether or not the signer lived to note it.
  if (facts.sent || facts.fates.length > 0) return step(state, 'broadcast');
  return decideEnded(state, facts);
}

/** Of one that was sent it ends by this only where nothing that was sent can land any more: the database insists. */
function decideEnded(state: PayoutOrderState, facts: PayoutFacts): PayoutStep | undefined {
  switch (facts.signing) {
    case 'EXPIRED':
      return step(state, 'failed', { reason: PAYOUT_REASONS.expired });
    case 'REFUSED':
      return step(state, 'failed', { reason: facts.signingReason });
    case 'REQUESTED':
    case 'AUTHORISED':
    case 'SIGNED':
      return undefined;
  }
}

function decideMined(state: PayoutOrderState, { fates }: PayoutFacts): PayoutStep | undefined {
  const landed = fates.find((fate) => verdictOf(fate) === 'LANDED');
  if (landed !== undefined) return step(state, 'confirmed', { actualAmount: landed.delivered });
  // One that is in a block and not verified yet may be of another nonce, and land: it is waited for.
  if (fates.some((fate) => verdictOf(fate) === 'IN_BLOCK')) return undefined;
  if (fates.some((fate) => verdictOf(fate) === 'FAILED'))
    return step(state, 'failed', { reason: PAYOUT_REASONS.transactionFailed });
  return step(state, 'reorganised', { reason: PAYOUT_REASONS.reorganised });
}

function step(
  state: PayoutOrderState,
  event: PayoutEvent,
  change: Partial<Omit<PayoutOrderState, 'status'>> = {},
): PayoutStep {
  const status = nextStatus(PAYOUT_TRANSITIONS, state.status, event);
  return {
    event,
    next: { status, reason: change.reason ?? null, actualAmount: change.actualAmount ?? null },
    notify: notifyTypeOf(status),
  };
}
