import type { CandidateTransfer } from '@opentill/chain/transfer';
import { sameTransfer } from '../compare-blocks.ts';
import type { TronSource } from '../tron-sources.ts';
import { isBetween, transferIn, type TokensByHex, type TronInfo } from '../decode-info.ts';

/** A transfer whose place in its receipt is not known yet; `indexInBlock` counts the logs of the block. */
export interface LoggedCandidate extends CandidateTransfer {
  readonly isLogged: true;
  /** The only source that showed it; undefined if two did. */
  readonly shownBy: TronSource | undefined;
}

export function isLogged(candidate: CandidateTransfer | LoggedCandidate): candidate is LoggedCandidate {
  return 'isLogged' in candidate;
}

/**
 * Logs name their place in the block, which receipts do not. So the order distinguishes equal transfers of a
 * transaction.
 */
export function placeInReceipt(
  { logs }: TronInfo,
  tokens: TokensByHex,
  { contract, from, to, amountBaseUnits }: LoggedCandidate,
  equals: number,
): number | undefined {
  const places = logs.flatMap((log, place) => {
    const stated = transferIn(log, tokens);
    const isEqual =
      stated?.contract === contract && stated.amount === amountBaseUnits && isBetween(stated, from, to);
    return isEqual ? [place] : [];
  });
  return places[equals];
}

/** Apart from the place. */
export function isEqual(one: CandidateTransfer, other: CandidateTransfer): boolean {
  return sameTransfer({ ...plainCandidate(one), indexInBlock: other.indexInBlock }, other);
}

/** Equal candidates of the same transaction with a lower place. */
export function equalsBefore(candidate: CandidateTransfer, candidates: readonly CandidateTransfer[]): number {
  return candidates.filter(
    (other) => other.indexInBlock < candidate.indexInBlock && isEqual(other, candidate),
  ).length;
}

export function plainCandidate(candidate: CandidateTransfer | LoggedCandidate): CandidateTransfer {
  const { txHash, blockHash, blockHeight, indexInBlock, contract, from, to, amountBaseUnits } = candidate;
  return { txHash, blockHash, blockHeight, indexInBlock, contract, from, to, amountBaseUnits };
}
