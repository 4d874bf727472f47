import type { BaseUnits } from './money.ts';

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

/** The postings sum to zero. `ref` is the natural key, so a second insert fails. */
export interface LedgerEntry {
  readonly ref: string;
  readonly kind: 'DEPOSIT' | 'DEPOSIT_REVERSED' | 'CREDIT' | 'CREDIT_REVERSED';
  readonly orderPk: string;
  readonly postings: readonly LedgerPosting[];
}

/** One transfer to a deposit address, or the sum of those credited to an order. */
export interface Receipt {
  readonly orderPk: string;
  readonly merchantId: string;
  readonly chain: string;
  readonly symbol: string;
  readonly amount: BaseUnits;
}

/** Not credited yet. `booking` counts from 1. */
export function bookDeposit(receipt: Receipt, transferId: number, booking: number): LedgerEntry {
  return entry('DEPOSIT', `deposit:${transferId}:${booking}`, receipt, 'DEPOSIT', 'SUSPENSE');
}

/** The transfer is no longer verified. */
export function reverseDeposit(receipt: Receipt, transferId: number, booking: number): LedgerEntry {
  return entry(
    'DEPOSIT_REVERSED',
    `deposit-reversed:${transferId}:${booking}`,
    receipt,
    'SUSPENSE',
    'DEPOSIT',
  );
}

/** The order is a SUCCESS. The reference permits one credit per order. @param receipts one for each coin, at least one */
export function creditOrder(orderPk: string, receipts: readonly Receipt[]): LedgerEntry {
  const ref = `credit:${orderPk}`;
  const credits = receipts.map((receipt) => entry('CREDIT', ref, receipt, 'SUSPENSE', 'MERCHANT'));
  return { ref, kind: 'CREDIT', orderPk, postings: credits.flatMap(({ postings }) => postings) };
}

/** A reorganisation removed the transfer. Precedes the reversal of its deposit. */
export function reverseCredit(receipt: Receipt, transferId: number, booking: number): LedgerEntry {
  return entry(
    'CREDIT_REVERSED',
    `credit-reversed:${transferId}:${booking}`,
    receipt,
    'MERCHANT',
    'SUSPENSE',
  );
}

/** The removed transfer is verified again. Follows its new deposit. */
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
