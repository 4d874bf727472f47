import type { BlockHeader } from '@opentill/chain/block';
import type { ConfirmOptions, RangeRead } from '@opentill/chain/chain-reader';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import type { Scanning } from './scanning.ts';
import { readerError } from '@opentill/chain/reader-error';
import type { MatchedTransfer } from './scan-change.ts';

export interface Matched {
  /** Those of known recipients, proven. */
  readonly transfers: readonly MatchedTransfer[];
  /** Those of the range and of the transfers' blocks, ascending. Stored, they show which transfers left the chain. */
  readonly headers: readonly BlockHeader[];
}

/**
 * Queries the database without a cache: an address is stored before it is shown, hence before a payment to it. Own
 * transactions are no deposits and are excluded by hash; the signer commits before it sends, so they are always found.
 */
export async function matchTransfers(
  { network, reader, store, observe }: Scanning,
  range: RangeRead,
  options: ConfirmOptions,
): Promise<Matched> {
  const none = { transfers: [], headers: range.headers };
  if (range.transfers.length === 0) return none;
  const ours = await store.findRecipients(
    network.family,
    range.transfers.map((transfer) => transfer.to),
  );
  const received = range.transfers.filter((transfer) => ours.has(transfer.to));
  if (received.length === 0) return none;
  const own = await store.findOwn(network.chain, [...new Set(received.map(({ txHash }) => txHash))]);
  const candidates = received.filter(({ txHash }) => !own.has(txHash));
  if (candidates.length === 0) return none;
  const {
    confirmed,
    refuted,
    headers = [],
  } = await reader.confirmTransfers(candidates, {
    ...options,
    headers: range.headers,
  });
  if (refuted.length > 0) observe.refuted(network.chain, refuted);
  const all = linkedHeaders([...range.headers, ...headers]);
  const times = new Map(all.map((header) => [header.hash, header.timeSeconds]));
  return {
    transfers: confirmed.map((transfer) => ({
      ...transfer,
      symbol: known(network.symbols.get(transfer.contract), transfer),
      blockTimeSeconds: known(times.get(transfer.blockHash), transfer),
    })),
    headers: all,
  };
}

/** Ascending. Throws INCONSISTENT_ANSWER if neighbours are not linked. */
function linkedHeaders(headers: readonly BlockHeader[]): readonly BlockHeader[] {
  const sorted = headers.toSorted((a, b) => a.height - b.height);
  sorted.forEach(({ height, hash, parentHash }, place) => {
    const before = sorted[place - 1];
    if (before === undefined || before.height < height - 1) return;
    if (before.height === height - 1 && before.hash === parentHash) return;
    throw readerError('INCONSISTENT_ANSWER', 'blocks of a range are not linked', { height, hash });
  });
  return sorted;
}

/** The reader returns only configured tokens and only transfers of the given headers. */
function known<T>(value: T | undefined, { txHash, contract, blockHash }: CandidateTransfer): T {
  if (value !== undefined) return value;
  throw readerError('INCONSISTENT_ANSWER', 'the reader returned a transfer that was not requested', {
    txHash,
    contract,
    blockHash,
  });
}
