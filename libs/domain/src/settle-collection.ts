import type { TransferState } from './confirmations.ts';
import { baseUnits, type BaseUnits } from './money.ts';
import { notifyTypeOf, type OrderNotifyType } from './notify-type.ts';
import {
  COLLECTION_TRANSITIONS,
  nextStatus,
  type CollectionEvent,
  type CollectionStatus,
} from './order-status.ts';

/** Reasons that the rules give (api.md section 5); an operator's is any other text. */
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
}

/** A transfer of the order's own token on its own chain to its deposit address. */
export interface TransferFact {
  readonly transferId: number;
  readonly txHash: string;
  readonly amount: BaseUnits;
  readonly state: TransferState;
  /** Time of the earliest block that held it: what was in time once stays in time (api.md section 5). */
  readonly firstBlockTimeSeconds: number;
  /** isDeepEnough for this order; implies VERIFIED. */
  readonly deepEnough: boolean;
  /** Given back to its payer, wholly or in part, or about to be: nothing of it pays the order any more. */
  readonly refunded?: boolean;
}

/** What is known of the chain, read in one snapshot. */
export interface CollectionFacts {
  readonly transfers: readonly TransferFact[];
  /** Block time of the chain's verified cursor. */
  readonly verifiedTimeSeconds: number;
}

/** One move of an order: what becomes of it, what the merchant hears, what is credited to it. */
export interface CollectionStep {
  readonly event: CollectionEvent;
  readonly next: CollectionState;
  /** The callback of this step, null for a step that is told by the next one or not worth telling. */
  readonly notify: OrderNotifyType | null;
  /** The transfers that make up actualAmount at SUCCESS; empty otherwise. */
  readonly creditedTransferIds: readonly number[];
}

/** Longer than any chain of moves that the rules allow from one set of facts (three). */
const STEPS_MAX = 6;

/**
 * All moves that `facts` ask for, in order; none when the order already says what the facts say.
 *
 * Facts, not events: called again, called late, called for every event or for the last one only, the order ends in
 * the same state. Only two things remember the past, as api.md section 5 wants: SUCCESS and FAILED stay whatever the
 * chain does, and EXPIRED is left only by money, never by a chain time that was put back. The reason of INIT and
 * PENDING tells how they were reached; of PENDING also whether something that was taken back is still away.
 */
export function settleCollection(
  terms: CollectionTerms,
  state: CollectionState,
  facts: CollectionFacts,
): readonly CollectionStep[] {
  const steps: CollectionStep[] = [];
  let current = state;
  for (;;) {
    const step = decideCollection(terms, current, facts);
    if (step === undefined) return steps;
    if (steps.length === STEPS_MAX) throw new RangeError(`no end of moves from ${state.status}`);
    steps.push(step);
    current = step.next;
  }
}

/** The next move that `facts` ask for, or undefined when there is none. Pure and idempotent. */
export function decideCollection(
  terms: CollectionTerms,
  state: CollectionState,
  facts: CollectionFacts,
): CollectionStep | undefined {
  const sums = sumTransfers(terms, facts.transfers);
  switch (state.status) {
    case 'INIT':
    case 'PENDING':
      return decideOpen(terms, state, facts, sums);
    case 'PENDING_CONFIRMATION':
      return decideConfirming(terms, state, sums);
    case 'EXPIRED':
      return decideExpired(terms, state, sums);
    case 'SUCCESS':
    case 'FAILED':
      return undefined;
  }
}

/** What an operator says of an order (api.md section 5). */
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
  terms: CollectionTerms,
  state: CollectionState,
  facts: Pick<CollectionFacts, 'transfers'>,
  { decision, reason, otherMoney }: CollectionDecision,
): CollectionStep | undefined {
  if (decision === 'REFUSE') {
    if (state.status === 'SUCCESS' || state.status === 'FAILED') return undefined;
    return step(state, 'refused', { ...state, reason });
  }
  const verified = facts.transfers.filter((t) => t.state === 'VERIFIED' && t.refunded !== true);
  if (state.status !== 'EXPIRED' || (verified.length === 0 && otherMoney === undefined)) return undefined;
  const { arrived } = sumTransfers(terms, facts.transfers);
  const actualAmount = baseUnits(total(verified) + (otherMoney?.worth ?? 0n));
  return {
    ...step(state, 'accepted', { reason: null, detectedAmount: arrived, actualAmount }),
    creditedTransferIds: [
      ...verified.map((t) => t.transferId),
      ...(otherMoney === undefined ? [] : [otherMoney.transferId]),
    ],
  };
}

/** Whether a transfer, as first mined, is in time for the order. */
export function isInTime(
  terms: Pick<CollectionTerms, 'cutoffSeconds'>,
  transfer: Pick<TransferFact, 'firstBlockTimeSeconds'>,
): boolean {
  return transfer.firstBlockTimeSeconds <= terms.cutoffSeconds;
}

interface Sums {
  /** In time, and not given back: what pays the order. */
  readonly detected: BaseUnits;
  /** In time, given back or not: what is shown of an order that it did not pay. */
  readonly arrived: BaseUnits;
  readonly confirmed: BaseUnits;
  readonly confirmedIds: readonly number[];
  readonly verified: BaseUnits;
  readonly verifiedLate: boolean;
  /** Something that was in time is in no block now: it may come back any moment, and nobody may be asked to send it again. */
  readonly away: boolean;
}

function sumTransfers(terms: CollectionTerms, transfers: readonly TransferFact[]): Sums {
  const live = transfers.filter((t) => t.state !== 'ORPHANED');
  const inTime = live.filter((t) => isInTime(terms, t));
  const kept = inTime.filter((t) => t.refunded !== true);
  const confirmed = kept.filter((t) => t.state === 'VERIFIED' && t.deepEnough);
  const verified = live.filter((t) => t.state === 'VERIFIED');
  // Mined again, a transaction may do the same at another place of its receipt, or less: then nothing more comes of it.
  const mined = new Set(live.map((t) => t.txHash));
  return {
    detected: total(kept),
    arrived: total(inTime),
    confirmed: total(confirmed),
    confirmedIds: confirmed.map((t) => t.transferId),
    verified: total(verified),
    verifiedLate: verified.some((t) => !isInTime(terms, t)),
    away: transfers.some((t) => t.state === 'ORPHANED' && isInTime(terms, t) && !mined.has(t.txHash)),
  };
}

function total(transfers: readonly TransferFact[]): BaseUnits {
  return baseUnits(transfers.reduce((sum, t) => sum + t.amount, 0n));
}

function decideOpen(
  terms: CollectionTerms,
  state: CollectionState,
  facts: CollectionFacts,
  sums: Sums,
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
function reasonOfPart(state: CollectionState, { detected, away }: Sums): string | null {
  if (away || detected < state.detectedAmount) return COLLECTION_REASONS.reorganised;
  return detected === state.detectedAmount ? state.reason : null;
}

function decideConfirming(
  terms: CollectionTerms,
  state: CollectionState,
  sums: Sums,
): CollectionStep | undefined {
  if (sums.detected < terms.acceptedAmount) {
    const event = sums.detected === 0n ? 'vanished' : 'uncovered';
    return step(state, event, open(sums, COLLECTION_REASONS.reorganised));
  }
  if (sums.confirmed >= terms.acceptedAmount) {
    return { ...step(state, 'confirmed', open(sums, null)), creditedTransferIds: sums.confirmedIds };
  }
  return settleActual(state, sums);
}

/** Brings the sums up to date without a word to the merchant. */
function settleActual(state: CollectionState, sums: Sums): CollectionStep | undefined {
  const amounts = open(sums, state.reason);
  if (amounts.detectedAmount === state.detectedAmount && amounts.actualAmount === state.actualAmount)
    return undefined;
  return { ...step(state, 'amountChanged', amounts), notify: null };
}

function decideExpired(
  terms: CollectionTerms,
  state: CollectionState,
  sums: Sums,
): CollectionStep | undefined {
  if (sums.detected >= terms.acceptedAmount) return step(state, 'covered', open(sums, null));
  const next = expired(sums);
  const actualChanged = next.actualAmount !== state.actualAmount;
  const changed =
    actualChanged || next.detectedAmount !== state.detectedAmount || next.reason !== state.reason;
  if (!changed) return undefined;
  const moved = step(state, 'amountChanged', next);
  return actualChanged ? moved : { ...moved, notify: null };
}

type Amounts = Omit<CollectionState, 'status'>;

function open(sums: Sums, reason: string | null): Amounts {
  return { reason, detectedAmount: sums.detected, actualAmount: orNull(sums.confirmed) };
}

function expired(sums: Sums): Amounts {
  const { notPaid, underpaid, paidAfterExpiry } = COLLECTION_REASONS;
  const something = sums.arrived > 0n || sums.verified > 0n;
  return {
    reason: sums.verifiedLate ? paidAfterExpiry : something ? underpaid : notPaid,
    detectedAmount: sums.arrived,
    actualAmount: orNull(sums.verified),
  };
}

function orNull(amount: BaseUnits): BaseUnits | null {
  return amount === 0n ? null : amount;
}

function step(state: CollectionState, event: CollectionEvent, amounts: Amounts): CollectionStep {
  const status = nextStatus(COLLECTION_TRANSITIONS, state.status, event);
  return { event, next: { ...amounts, status }, notify: notifyTypeOf(status), creditedTransferIds: [] };
}
