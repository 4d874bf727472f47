import type { CollectionSums, CreditedTransfers } from './collection-sums.ts';
import { baseUnits, type BaseUnits } from './money.ts';
import { notifyTypeOf, type OrderNotifyType } from './notify-type.ts';
import {
  COLLECTION_TRANSITIONS,
  nextStatus,
  type CollectionEvent,
  type CollectionStatus,
} from './order-status.ts';

/** Reasons that the rules give (docs/api.md section 5); an operator's is any other text. */
export const COLLECTION_REASONS = {
  reorganised: 'Reorganised',
  notPaid: 'Not paid',
  underpaid: 'Underpaid',
  paidAfterExpiry: 'Paid after expiry',
} as const;

/** What an order asks for; fixed at creation. */
export interface CollectionTerms {
  /** What has to arrive: the amount less the merchant's tolerance. */
  readonly acceptedAmount: BaseUnits;
  /** Last second in which a block may lie for its transfers to be in time: expiry plus the late grace, unix time. */
  readonly cutoffSeconds: number;
}

/** What changes of an order. */
export interface CollectionState {
  readonly status: CollectionStatus;
  readonly reason: string | null;
  /** Sum of the transfers in time, seen and not orphaned. Frozen at SUCCESS and FAILED. */
  readonly detectedAmount: BaseUnits;
  /**
   * While open: sum of the confirmed transfers in time. EXPIRED: of all that are verified. SUCCESS: what was
   * credited, frozen. Null while there is none.
   */
  readonly actualAmount: BaseUnits | null;
  /** EXPIRED: money came that no callback has reported, because the last one was less than a minute before. */
  readonly owesLateCallback?: boolean;
}

/** The chain's facts of an order, read in one snapshot. */
export interface CollectionFacts {
  readonly sums: CollectionSums;
  /** Block time of the chain's verified cursor. */
  readonly verifiedTimeSeconds: number;
  /** The last late-payment callback is at least a minute ago. */
  readonly lateCallbackAllowed: boolean;
}

/** One move of an order: what becomes of it, what the merchant hears, what is credited to it. */
export interface CollectionStep {
  readonly event: CollectionEvent;
  readonly next: CollectionState;
  /** The callback of this step, null for a step that is told by the next one or not worth telling. */
  readonly notify: OrderNotifyType | null;
  /** The transfers that make up actualAmount at SUCCESS (isCredited); null otherwise. */
  readonly credits: CreditedTransfers | null;
}

/** At most one late-payment callback of an order in so long; the next one carries the sum. */
export const LATE_CALLBACK_SECONDS = 60;

/** Longer than any chain of moves that the rules allow from one set of facts (three). */
const STEPS_MAX = 6;

/**
 * All moves that `facts` ask for, in order; none when the order already says what the facts say.
 *
 * Facts, not events: called again, called late, called for every event or for the last one only, the order ends in
 * the same state. Only two things remember the past, as docs/api.md section 5 wants: SUCCESS and FAILED stay whatever the
 * chain does, and EXPIRED is left only by money, never by a chain time that was put back. The reason of INIT and
 * PENDING tells how they were reached; of PENDING also whether something that was taken back is still away.
 *
 * `byDustOnly`: asked for by transfers below the token's minimum only. Their money is in the sums, and moves the order only
 * if it decides whether the order is covered.
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
    if (steps.length === STEPS_MAX) throw new RangeError(`no end of moves from ${state.status}`);
    steps.push(step);
    current = step.next;
  }
}

/** Dust moves an order only where it decides whether the order is paid: an order must not fail for the last cent. */
function decidesCover(before: CollectionState, after: CollectionState): boolean {
  const isCovered = ({ status }: CollectionState) =>
    status === 'PENDING_CONFIRMATION' || status === 'SUCCESS';
  return (
    isCovered(before) !== isCovered(after) || (after.status === 'SUCCESS' && before.status !== 'SUCCESS')
  );
}

/** The next move that `facts` ask for, or undefined when there is none. Pure and idempotent. */
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

/** What an operator says of an order (docs/api.md section 5). */
export interface CollectionDecision {
  readonly decision: 'ACCEPT' | 'REFUSE';
  /** Told to the merchant when refused. */
  readonly reason: string;
  /**
   * Of an acceptance: a verified transfer of another token, or on another chain, that is taken too, and what it counts as in base
   * units of the order's token.
   */
  readonly otherMoney?: { readonly transferId: number; readonly worth: BaseUnits };
}

/**
 * The move that an operator asks for: an EXPIRED order is accepted with what came, is verified and was not given back, any but a
 * SUCCESS is refused. Undefined when the order does not allow it, also an acceptance where nothing is left. Comes after all
 * moves that the facts ask for by themselves.
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
    // Through PENDING, as the table says, but the merchant hears of the covered order only.
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

/** Of an order that is not covered: whether the rest may be asked for, or was there already. */
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

/** Brings the sums up to date without a word to the merchant. */
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
