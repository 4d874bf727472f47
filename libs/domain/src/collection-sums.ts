import type { TransferState } from './confirmations.ts';
import { baseUnits, type BaseUnits } from './money.ts';

/** Last second in which a block may be for its transfers to be in time, unix time (CollectionTerms). */
interface Cutoff {
  readonly cutoffSeconds: number;
}

/** A transfer of the order's own token on its own chain to its deposit address. */
export interface TransferFact {
  readonly transferId: number;
  readonly txHash: string;
  readonly amount: BaseUnits;
  readonly state: TransferState;
  /** Time of the earliest block that held it: what was in time once stays in time (docs/api.md section 5). */
  readonly firstBlockTimeSeconds: number;
  /** isDeepEnough for this order; implies VERIFIED. */
  readonly deepEnough: boolean;
  /** Given back to its payer, wholly or in part, or about to be: nothing of it pays the order any more. */
  readonly refunded?: boolean;
}

/** Base units of an order's transfers that are not orphaned. */
export interface CollectionSums {
  /** In time, given back or not: what is shown of an order that it did not pay. */
  readonly arrived: BaseUnits;
  /** In time, and not given back: what pays the order. */
  readonly detected: BaseUnits;
  /** Of `detected` what is deep enough. */
  readonly confirmed: BaseUnits;
  /** Verified, whenever it came, given back or not. */
  readonly verified: BaseUnits;
  /** Of `verified` what came late. */
  readonly verifiedLate: BaseUnits;
  /** Of `verified` what was not given back: what an operator may accept. */
  readonly acceptable: BaseUnits;
  /** A transaction that paid in time is in no block now. It may come back, so the payer is not asked to pay again. */
  readonly away: boolean;
}

/** CONFIRMED: in time and deep enough. ACCEPTED: all that is verified, when an operator accepts the order. */
export type CreditedTransfers = 'CONFIRMED' | 'ACCEPTED';

/** Whether a transfer, as first mined, is in time for the order. */
export function isInTime(terms: Cutoff, transfer: Pick<TransferFact, 'firstBlockTimeSeconds'>): boolean {
  return transfer.firstBlockTimeSeconds <= terms.cutoffSeconds;
}

/** Whether a transfer of the order is part of what a step credits. */
export function isCredited(
  terms: Cutoff,
  credits: CreditedTransfers | null,
  transfer: TransferFact,
): boolean {
  if (credits === null || transfer.state !== 'VERIFIED' || transfer.refunded === true) return false;
  return credits === 'ACCEPTED' || (transfer.deepEnough && isInTime(terms, transfer));
}

/** The sums of an order's transfers, by reading all of them. The database keeps the same sums (table collection_sum). */
export function sumTransfers(terms: Cutoff, transfers: readonly TransferFact[]): CollectionSums {
  const live = transfers.filter((t) => t.state !== 'ORPHANED');
  const inTime = live.filter((t) => isInTime(terms, t));
  const verified = live.filter((t) => t.state === 'VERIFIED');
  // Mined again, a transaction may do the same at another place of its receipt, or less: then nothing more comes of it.
  const mined = new Set(live.map((t) => t.txHash));
  return {
    arrived: total(inTime),
    detected: total(inTime.filter((t) => t.refunded !== true)),
    confirmed: total(live.filter((t) => isCredited(terms, 'CONFIRMED', t))),
    verified: total(verified),
    verifiedLate: total(verified.filter((t) => !isInTime(terms, t))),
    acceptable: total(live.filter((t) => isCredited(terms, 'ACCEPTED', t))),
    away: transfers.some((t) => t.state === 'ORPHANED' && isInTime(terms, t) && !mined.has(t.txHash)),
  };
}

/** Sums as the database keeps them, in which nothing is given back: the few transfers that differ are taken out. */
export interface CountedSums {
  readonly inTime: BaseUnits;
  readonly verifiedInTime: BaseUnits;
  readonly verifiedLate: BaseUnits;
  /** Of `verifiedInTime` what is not deep enough. */
  readonly shallow: BaseUnits;
  readonly away: boolean;
}

/**
 * The sums that sumTransfers() would give.
 * @param elsewhere counted, but still settled for another order, or booked as a hot wallet's
 * @param refunded counted, and given back
 */
export function readSums(
  terms: Cutoff,
  counted: CountedSums,
  elsewhere: readonly TransferFact[],
  refunded: readonly TransferFact[],
): CollectionSums {
  const minus = (amount: bigint, ...others: readonly bigint[]) =>
    baseUnits(others.reduce((left, other) => left - other, amount));
  const asKept = (transfers: readonly TransferFact[]) =>
    sumTransfers(
      terms,
      transfers.map((t) => ({ ...t, refunded: false })),
    );
  const [gone, back] = [asKept(elsewhere), asKept(refunded)];
  const arrived = minus(counted.inTime, gone.arrived);
  const verified = minus(counted.verifiedInTime + counted.verifiedLate, gone.verified);
  return {
    arrived,
    detected: minus(arrived, back.arrived),
    confirmed: minus(counted.verifiedInTime, counted.shallow, gone.confirmed, back.confirmed),
    verified,
    verifiedLate: minus(counted.verifiedLate, gone.verifiedLate),
    acceptable: minus(verified, back.acceptable),
    away: counted.away,
  };
}

function total(transfers: readonly TransferFact[]): BaseUnits {
  return baseUnits(transfers.reduce((sum, t) => sum + t.amount, 0n));
}
