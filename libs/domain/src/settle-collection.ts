import type { CollectionSums, CreditedTransfers } from './collection-sums.ts';
import { baseUnits, type BaseUnits } from './money.ts';
import { notifyTypeOf, type OrderNotifyType } from './notify-type.ts';
import {
  COLLECTION_TRANSITIONS,
  nextStatus,
  type CollectionEvent,
  type CollectionStatus,
} from './order-status.ts';

/** docs/api.md section 5. Any other text is an operator's. */
export const COLLECTION_REASONS = {
  reorganised: 'Reorganised',
  notPaid: 'Not paid',
  underpaid: 'Underpaid',
  paidAfterExpiry: 'Paid after expiry',
} as const;

export interface CollectionTerms {
  /** The amount less the merchant's tolerance. */
  readonly acceptedAmount: BaseUnits;
  /** Expiry plus the late grace, in unix seconds: transfers up to this block time are in time. */
  readonly cutoffSeconds: number;
}

export interface CollectionState {
  readonly status: CollectionStatus;
  readonly reason: string | null;
  /** In time, not orphaned. Frozen at SUCCESS and FAILED. */
  readonly detectedAmount: BaseUnits;
  /** Open: confirmed in time. EXPIRED: all verified. SUCCESS: the credited sum, frozen. Null instead of zero. */
  readonly actualAmount: BaseUnits | null;
  /** EXPIRED: the last callback is less than a minute ago, so no callback has reported the newest money yet. */
  readonly owesLateCallback?: boolean;
}

export interface CollectionFacts {
  readonly sums: CollectionSums;
  /** The block time of the chain's verified cursor. */
  readonly verifiedTimeSeconds: number;
  readonly lateCallbackAllowed: boolean;
}

export interface CollectionStep {
  readonly event: CollectionEvent;
  readonly next: CollectionState;
  /** Null if the next step reports it, or it is not reported. */
  readonly notify: OrderNotifyType | null;
  /** At SUCCESS: the transfers that make up actualAmount. */
  readonly credits: CreditedTransfers | null;
}

/** Minimum interval per order; the next callback carries the sum. */
export const LATE_CALLBACK_SECONDS = 60;

/** More than the longest sequence of transitions from one set of facts (three). */
const STEPS_MAX = 6;

/**
 * All transitions that `facts` require, in order. Facts, not events: repeated, late or skipped calls lead to the same
 * final state. Only two rules depend on the past (docs/api.md section 5): SUCCESS and FAILED are final, and only money
 * leaves EXPIRED, never a chain time that moves back. `byDustOnly`: only transfers below the token's minimum changed;
 * they move the order only if they decide whether it is covered.
 */
export function settleCollection(
  terms: CollectionTerms,
  state: CollectionState,
  facts: CollectionFacts,
  { byDustOnly = false }: { readonly byDustOnly?: boolean } = {},
): readonly CollectionStep[] {
  const steps: CollectionStep[] = [];
  let current = state;
  for (;;) {
    const step = decideCollection(terms, current, facts);
    if (step === undefined) return byDustOnly && !decidesCover(state, current) ? [] : steps;
    if (steps.length === STEPS_MAX) throw new RangeError(`endless transitions from ${state.status}`);
    steps.push(step);
    current = step.next;
  }
}

/** An order must not fail for the last cent. */
function decidesCover(before: CollectionState, after: CollectionState): boolean {
  const isCovered = ({ status }: CollectionState) =>
    status === 'PENDING_CONFIRMATION' || status === 'SUCCESS';
  return (
    isCovered(before) !== isCovered(after) || (after.status === 'SUCCESS' && before.status !== 'SUCCESS')
  );
}

/** Undefined if the order is up to date. Idempotent. */
export function decideCollection(
  terms: CollectionTerms,
  state: CollectionState,
  facts: CollectionFacts,
): CollectionStep | undefined {
  switch (state.status) {
    case 'INIT':
    case 'PENDING':
      return decideOpen(terms, state, facts, facts.sums);
    case 'PENDING_CONFIRMATION':
      return decideConfirming(terms, state, facts.sums);
    case 'EXPIRED':
      return decideExpired(terms, state, facts);
    case 'SUCCESS':
    case 'FAILED':
      return undefined;
  }
}

export interface CollectionDecision {
  readonly decision: 'ACCEPT' | 'REFUSE';
  /** Reported to the merchant on refusal. */
  readonly reason: string;
  /** Only with ACCEPT: a verified transfer of another token or chain, credited with its worth in the order's token. */
  readonly otherMoney?: { readonly transferId: number; readonly worth: BaseUnits };
}

/**
 * Accepts an EXPIRED order with its verified, unrefunded money, or refuses any order except SUCCESS; else undefined.
 * Apply it after all transitions that the facts require.
 */
export function decideByOperator(
  state: CollectionState,
  { sums }: Pick<CollectionFacts, 'sums'>,
  { decision, reason, otherMoney }: CollectionDecision,
): CollectionStep | undefined {
  if (decision === 'REFUSE') {
    if (state.status === 'SUCCESS' || state.status === 'FAILED') return undefined;
    return step(state, 'refused', { ...amountsOf(state), reason });
  }
  if (state.status !== 'EXPIRED' || (sums.acceptable === 0n && otherMoney === undefined)) return undefined;
  const actualAmount = baseUnits(sums.acceptable + (otherMoney?.worth ?? 0n));
  return {
    ...step(state, 'accepted', { reason: null, detectedAmount: sums.arrived, actualAmount }),
    credits: 'ACCEPTED',
  };
}

function amountsOf({ reason, detectedAmount, actualAmount }: CollectionState): Amounts {
  return { reason, detectedAmount, actualAmount };
}

function decideOpen(
  terms: CollectionTerms,
  state: CollectionState,
  facts: CollectionFacts,
  sums: CollectionSums,
): CollectionStep | undefined {
  if (sums.detected >= terms.acceptedAmount) {
    // Passes PENDING, as the table requires, but reports only the covered order.
    if (state.status === 'INIT') return { ...step(state, 'partlyPaid', open(sums, null)), notify: null };
    return step(state, 'covered', open(sums, null));
  }
  if (facts.verifiedTimeSeconds > terms.cutoffSeconds) return step(state, 'expired', expired(sums));
  const reason = reasonOfPart(state, sums);
  if (state.status === 'INIT') {
    return sums.detected > 0n ? step(state, 'partlyPaid', open(sums, reason)) : undefined;
  }
  if (sums.detected === 0n) return step(state, 'vanished', open(sums, COLLECTION_REASONS.reorganised));
  if (sums.detected !== state.detectedAmount || reason !== state.reason) {
    return step(state, 'amountChanged', open(sums, reason));
  }
  return settleActual(state, sums);
}

/** Shows whether the payer may be asked for the rest. */
function reasonOfPart(state: CollectionState, { detected, away }: CollectionSums): string | null {
  if (away || detected < state.detectedAmount) return COLLECTION_REASONS.reorganised;
  return detected === state.detectedAmount ? state.reason : null;
}

function decideConfirming(
  terms: CollectionTerms,
  state: CollectionState,
  sums: CollectionSums,
): CollectionStep | undefined {
  if (sums.detected < terms.acceptedAmount) {
    const event = sums.detected === 0n ? 'vanished' : 'uncovered';
    return step(state, event, open(sums, COLLECTION_REASONS.reorganised));
  }
  if (sums.confirmed >= terms.acceptedAmount) {
    return { ...step(state, 'confirmed', open(sums, null)), credits: 'CONFIRMED' };
  }
  return settleActual(state, sums);
}

function settleActual(state: CollectionState, sums: CollectionSums): CollectionStep | undefined {
  const amounts = open(sums, state.reason);
  if (amounts.detectedAmount === state.detectedAmount && amounts.actualAmount === state.actualAmount)
    return undefined;
  return { ...step(state, 'amountChanged', amounts), notify: null };
}

function decideExpired(
  terms: CollectionTerms,
  state: CollectionState,
  { sums, lateCallbackAllowed }: CollectionFacts,
): CollectionStep | undefined {
  if (sums.detected >= terms.acceptedAmount) return step(state, 'covered', open(sums, null));
  const next = expired(sums);
  const owes = next.actualAmount !== state.actualAmount || state.owesLateCallback === true;
  const changed =
    next.actualAmount !== state.actualAmount ||
    next.detectedAmount !== state.detectedAmount ||
    next.reason !== state.reason;
  if (!changed && !(owes && lateCallbackAllowed)) return undefined;
  const moved = step(state, 'amountChanged', next);
  if (owes && lateCallbackAllowed) return moved;
  return { ...moved, next: owes ? { ...moved.next, owesLateCallback: true } : moved.next, notify: null };
}

type Amounts = Omit<CollectionState, 'status' | 'owesLateCallback'>;

function open(sums: CollectionSums, reason: string | null): Amounts {
  return { reason, detectedAmount: sums.detected, actualAmount: orNull(sums.confirmed) };
}

function expired(sums: CollectionSums): Amounts {
  const { notPaid, underpaid, paidAfterExpiry } = COLLECTION_REASONS;
  const something = sums.arrived > 0n || sums.verified > 0n;
  return {
    reason: sums.verifiedLate > 0n ? paidAfterExpiry : something ? underpaid : notPaid,
    detectedAmount: sums.arrived,
    actualAmount: orNull(sums.verified),
  };
}

function orNull(amount: BaseUnits): BaseUnits | null {
  return amount === 0n ? null : amount;
}

function step(state: CollectionState, event: CollectionEvent, amounts: Amounts): CollectionStep {
  const status = nextStatus(COLLECTION_TRANSITIONS, state.status, event);
  return { event, next: { ...amounts, status }, notify: notifyTypeOf(status), credits: null };
}
