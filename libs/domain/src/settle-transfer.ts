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

/** Whether a transfer to a deposit address is what its order asked for. */
export type TransferFit = 'ORDERED' | 'WRONG_TOKEN' | 'WRONG_CHAIN';

/** Why a transfer belongs to no order's amount (table unmatched_deposit). */
export type UnmatchedReason =
  'WRONG_TOKEN' | 'WRONG_CHAIN' | 'LATE' | 'UNDERPAID' | 'AFTER_SUCCESS' | 'ORDER_FAILED';

/** A token on a chain; contracts in canonical form, null for the native coin. */
export interface Asset {
  readonly chain: string;
  readonly contractAddress: string | null;
}

/** Compares a transfer to its order: the same address lives on every chain of a family. */
export function fitOf(order: Asset, transfer: Asset): TransferFit {
  if (transfer.chain !== order.chain) return 'WRONG_CHAIN';
  return transfer.contractAddress === order.contractAddress ? 'ORDERED' : 'WRONG_TOKEN';
}

/**
 * Why a transfer lies unmatched once its order stands at `status`; null when it does not: gone, credited (also by an operator,
 * although it is not what was ordered), or still waiting with its order.
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

/** What was booked of a transfer. Its chain is part of the transfer's natural key, so that stays. */
export interface BookedMoney {
  readonly symbol: string;
  readonly amount: BaseUnits;
}

/** What the ledger holds of a transfer (table transfer_settlement). */
export interface TransferBooking {
  /** What stands in the ledger now: as it was when booked, whatever the transaction did when it was mined again. */
  readonly booked: BookedMoney | null;
  /** How often it was booked: the number in the references of its entries. */
  readonly bookings: number;
  /**
   * Part of the actual amount of its order, which is SUCCESS. Stays when a reorganisation takes the transfer back,
   * until it is verified again as something that the order did not ask for, and that nobody accepted for it.
   */
  readonly credited: boolean;
}

export interface TransferSettlement {
  readonly booking: TransferBooking;
  /** In the order in which they must be posted. */
  readonly entries: readonly LedgerEntry[];
  /** The booking of a credited transfer that was taken back, by its number: an incident. */
  readonly creditReverted: (BookedMoney & { readonly booking: number }) | null;
  /** A credited transfer that was taken back, now or before, is booked and credited again. */
  readonly creditedAgain: boolean;
}

/**
 * Brings the ledger in line with the chain: booked exactly while VERIFIED, as what it is now, and with it the credit
 * of a credited one. A booking that says something else is reversed by what it says, and the transfer booked anew: a
 * transaction mined again may move another amount or token at the same place. The credit at SUCCESS itself is the
 * order's (creditOrder), since it is one entry for all its transfers. Idempotent: with nothing to do, no entries.
 */
export function settleBooking(
  transferId: number,
  receipt: Receipt,
  now: {
    readonly state: TransferState;
    readonly fit: TransferFit;
    /** Whether an operator accepted it for its order just as it is. */
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
