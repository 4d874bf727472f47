import type { OrderStatus } from '@opentill/contracts/notify-order';
import type { ChainTransfer, OrderTerms } from './facts.ts';

/** What an order must have come to: a second reading of docs/api.md sections 4 to 6, with nothing of the gateway's code. */
export interface ExpectedOutcome {
  readonly status: OrderStatus;
  readonly reason: string | null;
  /** Any of these; more than one where payments beyond the amount may or may not have been in time to be counted. */
  readonly actualAmounts: readonly (bigint | null)[];
  /** What the statuses of its callbacks, joined by blanks, must look like. */
  readonly story: RegExp;
}

/** @param transfers all to the order's address, of whatever token and chain */
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

/** Why a transfer to the order's address must lie unmatched; null when it belongs to what the order counts. */
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

/** The sums up to each block from the one that covered the amount on: the amount freezes at SUCCESS. */
function sumsFrom(inTime: readonly ChainTransfer[], amount: bigint): bigint[] {
  const heights = [...new Set(inTime.map((one) => one.blockHeight))];
  return heights
    .map((height) => sum(inTime.filter((one) => one.blockHeight <= height)))
    .filter((total) => total >= amount);
}
