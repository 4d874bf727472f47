import type { TransferState } from './confirmations.ts';
import {
  bookDeposit,
  creditAgain,
  reverseCredit,
  reverseDeposit,
  type LedgerEntry,
  type Receipt,
} from './ledger.ts';
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
 * Why a transfer lies unmatched once its order stands at `status`; null when it does not: gone, credited, or still
 * waiting with its order.
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
  if (transfer.fit !== 'ORDERED') return transfer.fit;
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

/** What the ledger holds of a transfer (table transfer_settlement). */
export interface TransferBooking {
  /** It stands in the ledger now. */
  readonly booked: boolean;
  /** How often it was booked: the number in the references of its entries. */
  readonly bookings: number;
  /** Part of the actual amount of its order, which is SUCCESS. Stays when a reorganisation takes the transfer back. */
  readonly credited: boolean;
}

export interface TransferSettlement {
  readonly booking: TransferBooking;
  /** In the order in which they must be posted. */
  readonly entries: readonly LedgerEntry[];
  /** A credited transfer was taken back: an incident. */
  readonly creditReverted: boolean;
}

/**
 * Brings the ledger in line with the chain: booked exactly while VERIFIED, and with it the credit of a credited
 * one. The credit at SUCCESS itself is the order's (creditOrder), since it is one entry for all its transfers.
 * Idempotent: with nothing to do, no entries.
 */
export function settleBooking(
  transferId: number,
  receipt: Receipt,
  state: TransferState,
  held: TransferBooking,
): TransferSettlement {
  const verified = state === 'VERIFIED';
  if (verified === held.booked) return { booking: held, entries: [], creditReverted: false };
  if (verified) {
    const bookings = held.bookings + 1;
    const entries = [bookDeposit(receipt, transferId, bookings)];
    if (held.credited) entries.push(creditAgain(receipt, transferId, bookings));
    return { booking: { ...held, booked: true, bookings }, entries, creditReverted: false };
  }
  const entries = [reverseDeposit(receipt, transferId, held.bookings)];
  if (held.credited) entries.unshift(reverseCredit(receipt, transferId, held.bookings));
  return { booking: { ...held, booked: false }, entries, creditReverted: held.credited };
}
