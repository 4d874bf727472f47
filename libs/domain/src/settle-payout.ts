import type { BaseUnits } from './money.ts';
import { notifyTypeOf, type OrderNotifyType } from './notify-type.ts';
import { nextStatus, PAYOUT_TRANSITIONS, type PayoutEvent, type PayoutStatus } from './order-status.ts';

/** Any other text is the reason of the signer's policy. */
export const PAYOUT_REASONS = {
  reorganised: 'Reorganised',
  expired: 'Payout expired',
  refusedByOperator: 'Refused by operator',
  transactionFailed: 'Transaction failed',
} as const;

export type SigningState = 'REQUESTED' | 'AUTHORISED' | 'SIGNED' | 'REFUSED' | 'EXPIRED';

export type FateState = 'MINED' | 'VERIFIED' | 'ORPHANED';

export interface FateFact {
  readonly state: FateState;
  readonly succeeded: boolean;
  /** The receipt's logs show this amount from the wallet to the receiver. */
  readonly delivered: BaseUnits;
}

export interface PayoutFacts {
  readonly signing: SigningState;
  readonly signingReason: string | null;
  /** A first broadcast was attempted and recorded. */
  readonly sent: boolean;
  /** Only transactions that were ever in a block have one. */
  readonly fates: readonly FateFact[];
}

export interface PayoutOrderState {
  readonly status: PayoutStatus;
  readonly reason: string | null;
  readonly actualAmount: BaseUnits | null;
}

export interface PayoutStep {
  readonly event: PayoutEvent;
  readonly next: PayoutOrderState;
  readonly notify: OrderNotifyType;
}

/** Only a verified outcome is final. LANDED: the logs show a delivery; the receipt's status is not enough. */
export type FateVerdict = 'LANDED' | 'FAILED' | 'IN_BLOCK' | 'GONE';

export function classifyOutcome({ state, succeeded, delivered }: FateFact): FateVerdict {
  if (state === 'ORPHANED') return 'GONE';
  if (state === 'MINED') return 'IN_BLOCK';
  return succeeded && delivered > 0n ? 'LANDED' : 'FAILED';
}

/** More than the longest sequence of transitions from one set of facts (three). */
const STEPS_MAX = 6;

/**
 * All transitions that `facts` require, in order; each is reported to the merchant. Facts, not events: repeated, late
 * or skipped calls lead to the same final state. Only SUCCESS and FAILED are final.
 */
export function settlePayout(state: PayoutOrderState, facts: PayoutFacts): readonly PayoutStep[] {
  const steps: PayoutStep[] = [];
  let current = state;
  for (;;) {
    const step = decidePayout(current, facts);
    if (step === undefined) return steps;
    if (steps.length === STEPS_MAX) throw new RangeError(`endless transitions from ${state.status}`);
    steps.push(step);
    current = step.next;
  }
}

/** Undefined if the order is up to date. Idempotent. */
function decidePayout(state: PayoutOrderState, facts: PayoutFacts): PayoutStep | undefined {
  switch (state.status) {
    case 'INIT':
      return decideUnsent(state, facts);
    case 'PENDING':
      return facts.fates.some((fate) => classifyOutcome(fate) !== 'GONE')
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
  // A transaction in a block was sent, even if the signer crashed before it recorded that.
  if (facts.sent || facts.fates.length > 0) return step(state, 'broadcast');
  return decideEnded(state, facts);
}

/** A sent payout gets here only when no transaction can land, which the database enforces. */
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
  const landed = fates.find((fate) => classifyOutcome(fate) === 'LANDED');
  if (landed !== undefined) return step(state, 'confirmed', { actualAmount: landed.delivered });
  // An unverified transaction in a block may have another nonce and may still land.
  if (fates.some((fate) => classifyOutcome(fate) === 'IN_BLOCK')) return undefined;
  if (fates.some((fate) => classifyOutcome(fate) === 'FAILED'))
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
