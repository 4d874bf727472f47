import type { ConfirmOptions, RangeRead } from '@opentill/chain/chain-reader';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import type { Scanning } from './scanning.ts';
import { readerError } from '@opentill/chain/reader-error';
import type { MatchedTransfer } from './scan-change.ts';

/**
 * Finds the transfers of a range that went to deposit addresses or hot wallets and has them proven by their receipts.
 * Asks the database, not a cache: an address is known to it before anybody can learn it, hence before a payment to it.
 *
 * What the gateway itself moved is no deposit: a payout or a fee to an address of ours is left out by its transaction's
 * hash. Nor was it ever recorded as one, since the signer commits what it signed before it sends it: whoever reads it
 * in a block finds it here.
 */
export async function matchTransfers(
  { network, reader, store, observe }: Scanning,
  range: RangeRead,
  options: ConfirmOptions,
): Promise<readonly MatchedTransfer[]> {
  if (range.transfers.length === 0) return [];
  const ours = await store.findRecipients(
    network.family,
    range.transfers.map((transfer) => transfer.to),
  );
  const received = range.transfers.filter((transfer) => ours.has(transfer.to));
  if (received.length === 0) return [];
  const own = await store.findOwn(network.chain, [...new Set(received.map(({ txHash }) => txHash))]);
  const candidates = received.filter(({ txHash }) => !own.has(txHash));
  if (candidates.length === 0) return [];
  const { confirmed, refuted } = await reader.confirmTransfers(candidates, {
    ...options,
    headers: range.headers,
  });
  if (refuted.length > 0) observe.refuted(network.chain, refuted);
  const times = new Map(range.headers.map((header) => [header.hash, header.timeSeconds]));
  return confirmed.map((transfer) => ({
    ...transfer,
    symbol: known(network.symbols.get(transfer.contract), transfer),
    blockTimeSeconds: known(times.get(transfer.blockHash), transfer),
  }));
}

/** The reader promises both: only configured tokens, and only transfers of the headers it gave. */
function known<T>(value: T | undefined, { txHash, contract, blockHash }: CandidateTransfer): T {
  if (value !== undefined) return value;
  throw readerError('INCONSISTENT_ANSWER', 'a transfer that was not asked for', {
    txHash,
    contract,
    blockHash,
  });
}
