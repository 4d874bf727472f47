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

/** Result of comparing a transfer to a deposit address with its order. */
export type TransferFit = 'ORDERED' | 'WRONG_TOKEN' | 'WRONG_CHAIN';

/** Reasons why a transfer is not part of any order's amount (table unmatched_deposit). */
export type UnmatchedReason =
  'WRONG_TOKEN' | 'WRONG_CHAIN' | 'LATE' | 'UNDERPAID' | 'AFTER_SUCCESS' | 'ORDER_FAILED';

/** A token on a chain; contracts in canonical form, null for the native coin. */
export interface Asset {
  readonly chain: string;
  readonly contractAddress: string | null;
}

/** Compares a transfer with its order. A deposit address is valid on every chain of its family. */
export function fitOf(order: Asset, transfer: Asset): TransferFit {
  if (transfer.chain !== order.chain) return 'WRONG_CHAIN';
  return transfer.contractAddress === order.contractAddress ? 'ORDERED' : 'WRONG_TOKEN';
}

/**
 * Reason why a transfer is unmatched while its order has `status`. Null if it is orphaned, credited (also by an
 * operator, in another token), or waits with its open order.
 */
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

/** Booked asset and amount of a transfer. Its chain is in the transfer's natural key and cannot change. */
export interface BookedMoney {
  readonly symbol: string;
  readonly amount: BaseUnits;
}

/** State of a transfer in the ledger (table transfer_settlement). */
export interface TransferBooking {
  /** The current booking, as booked; null: none. The transaction may have changed when it was mined again. */
  readonly booked: BookedMoney | null;
  /** Number of bookings so far; part of the references of its entries. */
  readonly bookings: number;
  /**
   * Part of the actual amount of its SUCCESS order. Remains true when a reorganisation removes the transfer, until it
   * is verified again as something that was neither ordered nor accepted.
   */
  readonly credited: boolean;
}

export interface TransferSettlement {
  readonly booking: TransferBooking;
  /** In the order in which they must be posted. */
  readonly entries: readonly LedgerEntry[];
  /** The booking of a credited transfer that was removed, with its number: an incident. */
  readonly creditReverted: (BookedMoney & { readonly booking: number }) | null;
  /** A credited transfer that was removed, now or earlier, is booked and credited again. */
  readonly creditedAgain: boolean;
}

/**
 * Updates the ledger to the chain: a transfer is booked exactly while VERIFIED, with its present asset and amount,
 * together with its credit. A booking that differs is reversed as booked, and the transfer is booked again: a
 * transaction that is mined again may move another amount or token at the same position. The credit at SUCCESS is not
 * made here: it is one entry for all transfers of the order (creditOrder). Idempotent.
 */
export function settleBooking(
  transferId: number,
  receipt: Receipt,
  now: {
    readonly state: TransferState;
    readonly fit: TransferFit;
    /** True if an operator accepted this transfer for its order, unchanged since. */
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
