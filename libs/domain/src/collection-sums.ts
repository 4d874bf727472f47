import type { TransferState } from './confirmations.ts';
import { baseUnits, type BaseUnits } from './money.ts';

/** Unix seconds. */
interface Cutoff {
  readonly cutoffSeconds: number;
}

/** It moved the order's own token, on its own chain, to its deposit address. */
export interface TransferFact {
  readonly transferId: number;
  readonly txHash: string;
  readonly amount: BaseUnits;
  readonly state: TransferState;
  /** The earliest block that held it, so that a reorganisation does not make it late (docs/api.md section 5). */
  readonly firstBlockTimeSeconds: number;
  readonly deepEnough: boolean;
  /** Completely or in part, also in flight. No part of it pays the order. */
  readonly refunded?: boolean;
}

/** Orphaned transfers do not count. Base units. */
export interface CollectionSums {
  /** In time, refunded or not. Shown for an unpaid order. */
  readonly arrived: BaseUnits;
  /** In time, not refunded. Pays the order. */
  readonly detected: BaseUnits;
  /** The part of `detected` that is deep enough. */
  readonly confirmed: BaseUnits;
  /** Verified at any time, refunded or not. */
  readonly verified: BaseUnits;
  readonly verifiedLate: BaseUnits;
  /** Verified, not refunded. An operator may accept it. */
  readonly acceptable: BaseUnits;
  /** A transaction that paid in time is in no block now. It may return: the payer is not asked to pay again. */
  readonly away: boolean;
}

/** ACCEPTED: all verified transfers, when an operator accepts the order. */
export type CreditedTransfers = 'CONFIRMED' | 'ACCEPTED';

export function arrivedInTime(terms: Cutoff, transfer: Pick<TransferFact, 'firstBlockTimeSeconds'>): boolean {
  return transfer.firstBlockTimeSeconds <= terms.cutoffSeconds;
}

export function isCredited(
  terms: Cutoff,
  credits: CreditedTransfers | null,
  transfer: TransferFact,
): boolean {
  if (credits === null || transfer.state !== 'VERIFIED' || transfer.refunded === true) return false;
  return credits === 'ACCEPTED' || (transfer.deepEnough && arrivedInTime(terms, transfer));
}

/** The database keeps the same sums incrementally (table collection_sum). */
export function sumTransfers(terms: Cutoff, transfers: readonly TransferFact[]): CollectionSums {
  const live = transfers.filter((t) => t.state !== 'ORPHANED');
  const inTime = live.filter((t) => arrivedInTime(terms, t));
  const verified = live.filter((t) => t.state === 'VERIFIED');
  // A transaction that is mined again may have its transfer at another position, or fewer transfers. Then the rest
  // does not return.
  const mined = new Set(live.map((t) => t.txHash));
  return {
    arrived: total(inTime),
    detected: total(inTime.filter((t) => t.refunded !== true)),
    confirmed: total(live.filter((t) => isCredited(terms, 'CONFIRMED', t))),
    verified: total(verified),
    verifiedLate: total(verified.filter((t) => !arrivedInTime(terms, t))),
    acceptable: total(live.filter((t) => isCredited(terms, 'ACCEPTED', t))),
    away: transfers.some((t) => t.state === 'ORPHANED' && arrivedInTime(terms, t) && !mined.has(t.txHash)),
  };
}

/** The database counts refunded transfers too. `readSums` subtracts those that differ. */
export interface CountedSums {
  readonly inTime: BaseUnits;
  readonly verifiedInTime: BaseUnits;
  readonly verifiedLate: BaseUnits;
  readonly shallow: BaseUnits;
  readonly away: boolean;
}

/** Same as sumTransfers(). @param elsewhere counted, but settled for another order or booked as a hot wallet's */
export function subtractFromCounted(
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
