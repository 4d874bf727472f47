import type { TransferState } from './confirmations.ts';
import {
  bookDeposit,
  creditAgain,
  reverseCredit,
  reverseDeposit,
  type LedgerEntry,
  type Receipt,
} from './ledger.ts';
import type { BaseUnits } from './money.ts';
import type { CollectionStatus } from './order-status.ts';

export type TransferFit = 'ORDERED' | 'WRONG_TOKEN' | 'WRONG_CHAIN';

export const UNMATCHED_REASONS = [
  'WRONG_TOKEN',
  'WRONG_CHAIN',
  'LATE',
  'UNDERPAID',
  'AFTER_SUCCESS',
  'ORDER_FAILED',
] as const;
export type UnmatchedReason = (typeof UNMATCHED_REASONS)[number];

/** Contracts in canonical form; null for the native coin. */
export interface Asset {
  readonly chain: string;
  readonly contractAddress: string | null;
}

/**
 * A deposit address is valid on every chain of its family. It accepts all coins of its order, whichever the customer has
 * chosen: each has its amount since the order was created.
 */
export function compareWithOrder(coins: readonly Asset[], transfer: Asset): TransferFit {
  const ofChain = coins.filter(({ chain }) => chain === transfer.chain);
  if (ofChain.length === 0) return 'WRONG_CHAIN';
  const isOrdered = ofChain.some(({ contractAddress }) => contractAddress === transfer.contractAddress);
  return isOrdered ? 'ORDERED' : 'WRONG_TOKEN';
}

/** Null if the transfer is orphaned, credited (also by an operator, in another token), or waits with its open order. */
export function unmatchedReason(
  status: CollectionStatus,
  transfer: {
    readonly fit: TransferFit;
    readonly state: TransferState;
    readonly inTime: boolean;
    readonly credited: boolean;
  },
): UnmatchedReason | null {
  if (transfer.state === 'ORPHANED') return null;
  if (transfer.fit !== 'ORDERED') return transfer.credited ? null : transfer.fit;
  switch (status) {
    case 'INIT':
    case 'PENDING':
    case 'PENDING_CONFIRMATION':
      return null;
    case 'SUCCESS':
      return transfer.credited ? null : 'AFTER_SUCCESS';
    case 'EXPIRED':
      return transfer.inTime ? 'UNDERPAID' : 'LATE';
    case 'FAILED':
      return 'ORDER_FAILED';
  }
}

/** The chain is in the transfer's natural key and cannot change. */
export interface BookedMoney {
  readonly symbol: string;
  readonly amount: BaseUnits;
}

export interface TransferBooking {
  /** Null: none. The transaction may have changed since, when it was mined again. */
  readonly booked: BookedMoney | null;
  /** The references of its entries contain this number. */
  readonly bookings: number;
  /**
   * Part of its SUCCESS order's actual amount. Survives a reorganisation until the transfer is verified as other money.
   */
  readonly credited: boolean;
}

export interface TransferSettlement {
  readonly booking: TransferBooking;
  readonly entries: readonly LedgerEntry[];
  /** A credited transfer was removed: an incident. */
  readonly creditReverted: (BookedMoney & { readonly booking: number }) | null;
  /** A credited transfer that was removed, now or earlier, is booked and credited again. */
  readonly creditedAgain: boolean;
}

/**
 * A transfer is booked exactly while VERIFIED, with its present asset and amount: a transaction that is mined again may
 * move another amount or token at the same position. The credit at SUCCESS is one entry for all transfers of the order
 * (creditOrder). Idempotent.
 */
export function settleBooking(
  transferId: number,
  receipt: Receipt,
  now: {
    readonly state: TransferState;
    readonly fit: TransferFit;
    /** An operator accepted it for its order, and it has not changed since. */
    readonly accepted?: boolean;
  },
  held: TransferBooking,
): TransferSettlement {
  const verified = now.state === 'VERIFIED';
  const credited = held.credited && (now.fit === 'ORDERED' || now.accepted === true || !verified);
  if (verified ? isBookedAs(receipt, held) && credited === held.credited : held.booked === null) {
    return { booking: held, entries: [], creditReverted: null, creditedAgain: false };
  }
  const entries: LedgerEntry[] = [];
  if (held.booked !== null) {
    const booked = { ...receipt, ...held.booked };
    if (held.credited) entries.push(reverseCredit(booked, transferId, held.bookings));
    entries.push(reverseDeposit(booked, transferId, held.bookings));
  }
  const bookings = verified ? held.bookings + 1 : held.bookings;
  if (verified) {
    entries.push(bookDeposit(receipt, transferId, bookings));
    if (credited) entries.push(creditAgain(receipt, transferId, bookings));
  }
  return {
    booking: {
      booked: verified ? { symbol: receipt.symbol, amount: receipt.amount } : null,
      bookings,
      credited,
    },
    entries,
    creditReverted: held.credited && held.booked !== null ? { ...held.booked, booking: held.bookings } : null,
    creditedAgain: verified && credited,
  };
}

function isBookedAs({ symbol, amount }: Receipt, { booked }: TransferBooking): boolean {
  return booked !== null && booked.symbol === symbol && booked.amount === amount;
}
