import type { OrderStatus } from '@opentill/contracts/notify-order';
import type { ChainTransfer, OrderTerms } from './facts.ts';

/** Required outcome of an order: docs/api.md sections 4 to 6, implemented independently of the gateway's code. */
export interface ExpectedOutcome {
  readonly status: OrderStatus;
  readonly reason: string | null;
  /** Allowed values. More than one if later payments may or may not have been counted before SUCCESS. */
  readonly actualAmounts: readonly (bigint | null)[];
  readonly story: RegExp;
}

/** @param transfers all to the order's address, of any token and chain */
export function expectOutcome(
  terms: OrderTerms,
  transfers: readonly ChainTransfer[],
  decidedUntilSeconds: number,
): ExpectedOutcome {
  const own = transfers
    .filter((one) => one.chain === terms.chain && one.contract === terms.contract)
    .toSorted((a, b) => a.blockHeight - b.blockHeight);
  const inTime = own.filter((one) => one.blockTimeSeconds <= terms.expiresAtSeconds);
  const paidInTime = sum(inTime);
  const moves = terms.reorganised
    ? '(INIT |PENDING |PENDING_CONFIRMATION )*'
    : `(PENDING ){0,${inTime.length}}`;
  if (paidInTime >= terms.amount) {
    return {
      status: 'SUCCESS',
      reason: null,
      actualAmounts: sumsFrom(inTime, terms.amount),
      story: new RegExp(`^INIT ${moves}PENDING_CONFIRMATION SUCCESS$`),
    };
  }
  const isOver = decidedUntilSeconds > terms.expiresAtSeconds;
  if (!isOver) {
    const status = paidInTime > 0n ? 'PENDING' : 'INIT';
    const back = terms.reorganised ? `( ${moves}INIT)?` : '';
    const story = new RegExp(status === 'INIT' ? `^INIT${back}$` : `^INIT ${moves}PENDING$`);
    return { status, reason: null, actualAmounts: [paidInTime === 0n ? null : paidInTime], story };
  }
  const paid = sum(own);
  const isLate = own.length > inTime.length;
  return {
    status: 'EXPIRED',
    reason: isLate ? 'Paid after expiry' : paid > 0n ? 'Underpaid' : 'Not paid',
    actualAmounts: [paid === 0n ? null : paid],
    story: new RegExp(`^INIT ${moves}EXPIRED( EXPIRED){0,${own.length}}$`),
  };
}

/** Required unmatched reason of a transfer to the order's address; null if the order counts it. */
export function expectUnmatched(
  terms: OrderTerms,
  status: OrderStatus,
  transfer: ChainTransfer,
): string | null {
  if (transfer.chain !== terms.chain) return 'WRONG_CHAIN';
  if (transfer.contract !== terms.contract) return 'WRONG_TOKEN';
  if (status !== 'EXPIRED') return null;
  return transfer.blockTimeSeconds <= terms.expiresAtSeconds ? 'UNDERPAID' : 'LATE';
}

export function sum(transfers: readonly { readonly amount: bigint }[]): bigint {
  return transfers.reduce((total, { amount }) => total + amount, 0n);
}

/** Sums up to each block, beginning with the block that covers the amount. SUCCESS freezes the amount. */
function sumsFrom(inTime: readonly ChainTransfer[], amount: bigint): bigint[] {
  const heights = [...new Set(inTime.map((one) => one.blockHeight))];
  return heights
    .map((height) => sum(inTime.filter((one) => one.blockHeight <= height)))
    .filter((total) => total >= amount);
}
