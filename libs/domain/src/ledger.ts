import type { BaseUnits } from './money.ts';

/** Kinds of accounts that payments touch (table ledger_account). */
export type DepositAccountKind = 'DEPOSIT' | 'SUSPENSE' | 'MERCHANT';

/** An account by its natural key. */
export interface LedgerAccount {
  readonly kind: DepositAccountKind;
  readonly chain: string;
  readonly symbol: string;
  /** Null for DEPOSIT: merchants are shops of one owner and share the chain. */
  readonly merchantId: string | null;
}

/** One line: positive debits, negative credits the account. */
export interface LedgerPosting {
  readonly account: LedgerAccount;
  readonly amount: bigint;
}

/** A transaction of the ledger. Its postings sum to zero; `ref` is its natural key, so twice is refused. */
export interface LedgerEntry {
  readonly ref: string;
  readonly kind: 'DEPOSIT' | 'DEPOSIT_REVERSED' | 'CREDIT' | 'CREDIT_REVERSED';
  readonly orderPk: string;
  readonly postings: readonly LedgerPosting[];
}

/** What was received, for whom: a transfer to a deposit address, or the sum of those credited to an order. */
export interface Receipt {
  readonly orderPk: string;
  readonly merchantId: string;
  readonly chain: string;
  readonly symbol: string;
  readonly amount: BaseUnits;
}

/** A verified transfer stands on its deposit address, not credited to anybody yet. `booking` counts from 1. */
export function bookDeposit(receipt: Receipt, transferId: number, booking: number): LedgerEntry {
  return entry('DEPOSIT', `deposit:${transferId}:${booking}`, receipt, 'DEPOSIT', 'SUSPENSE');
}

/** A booked transfer is not verified any more. */
export function reverseDeposit(receipt: Receipt, transferId: number, booking: number): LedgerEntry {
  return entry(
    'DEPOSIT_REVERSED',
    `deposit-reversed:${transferId}:${booking}`,
    receipt,
    'SUSPENSE',
    'DEPOSIT',
  );
}

/** An order became SUCCESS: its actual amount is the merchant's. Once per order, which the reference enforces. */
export function creditOrder(receipt: Receipt): LedgerEntry {
  return entry('CREDIT', `credit:${receipt.orderPk}`, receipt, 'SUSPENSE', 'MERCHANT');
}

/** A reorganisation took a credited transfer back. Comes before the reversal of its deposit. */
export function reverseCredit(receipt: Receipt, transferId: number, booking: number): LedgerEntry {
  return entry(
    'CREDIT_REVERSED',
    `credit-reversed:${transferId}:${booking}`,
    receipt,
    'MERCHANT',
    'SUSPENSE',
  );
}

/** A credited transfer that a reorganisation took back is verified again. Comes after its new deposit. */
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
  if (amount <= 0n) throw new RangeError(`nothing to post for ${ref}`);
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
