import type { BaseUnits } from './money.ts';

/** Kinds of accounts that payments use (table ledger_account). */
export type DepositAccountKind = 'DEPOSIT' | 'SUSPENSE' | 'MERCHANT';

export interface LedgerAccount {
  readonly kind: DepositAccountKind;
  readonly chain: string;
  readonly symbol: string;
  /** Null for DEPOSIT: merchants are shops of one owner and share the chain. */
  readonly merchantId: string | null;
}

/** One line: a positive amount debits the account, a negative one credits it. */
export interface LedgerPosting {
  readonly account: LedgerAccount;
  readonly amount: bigint;
}

/** A ledger transaction. Its postings sum to zero. `ref` is its natural key, so a second insert fails. */
export interface LedgerEntry {
  readonly ref: string;
  readonly kind: 'DEPOSIT' | 'DEPOSIT_REVERSED' | 'CREDIT' | 'CREDIT_REVERSED';
  readonly orderPk: string;
  readonly postings: readonly LedgerPosting[];
}

/** Received money: one transfer to a deposit address, or the sum of those credited to an order. */
export interface Receipt {
  readonly orderPk: string;
  readonly merchantId: string;
  readonly chain: string;
  readonly symbol: string;
  readonly amount: BaseUnits;
}

/** Books a verified transfer to its deposit address, not credited yet. `booking` counts from 1. */
export function bookDeposit(receipt: Receipt, transferId: number, booking: number): LedgerEntry {
  return entry('DEPOSIT', `deposit:${transferId}:${booking}`, receipt, 'DEPOSIT', 'SUSPENSE');
}

/** Reverses a booked transfer that is no longer verified. */
export function reverseDeposit(receipt: Receipt, transferId: number, booking: number): LedgerEntry {
  return entry(
    'DEPOSIT_REVERSED',
    `deposit-reversed:${transferId}:${booking}`,
    receipt,
    'SUSPENSE',
    'DEPOSIT',
  );
}

/** Credits the actual amount of a SUCCESS order to the merchant. The reference permits it once per order. */
export function creditOrder(receipt: Receipt): LedgerEntry {
  return entry('CREDIT', `credit:${receipt.orderPk}`, receipt, 'SUSPENSE', 'MERCHANT');
}

/** Reverses the credit of a transfer that a reorganisation removed. Precedes the reversal of its deposit. */
export function reverseCredit(receipt: Receipt, transferId: number, booking: number): LedgerEntry {
  return entry(
    'CREDIT_REVERSED',
    `credit-reversed:${transferId}:${booking}`,
    receipt,
    'MERCHANT',
    'SUSPENSE',
  );
}

/** Credits a removed transfer again after it was verified again. Follows its new deposit. */
export function creditAgain(receipt: Receipt, transferId: number, booking: number): LedgerEntry {
  return entry('CREDIT', `credit-again:${transferId}:${booking}`, receipt, 'SUSPENSE', 'MERCHANT');
}

function entry(
  kind: LedgerEntry['kind'],
  ref: string,
  receipt: Receipt,
  debited: DepositAccountKind,
  credited: DepositAccountKind,
): LedgerEntry {
  const { orderPk, chain, symbol, merchantId, amount } = receipt;
  if (amount <= 0n) throw new RangeError(`ledger entry ${ref} has no positive amount`);
  const account = (of: DepositAccountKind): LedgerAccount => ({
    kind: of,
    chain,
    symbol,
    merchantId: of === 'DEPOSIT' ? null : merchantId,
  });
  return {
    ref,
    kind,
    orderPk,
    postings: [
      { account: account(debited), amount },
      { account: account(credited), amount: 0n - amount },
    ],
  };
}
