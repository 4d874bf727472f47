import type { RangeRead } from '@opentill/chain/chain-reader';
import type { TxHash } from '@opentill/chain/transfer';
import type { LandedTransaction } from './landed-transaction.ts';
import type { Scanning } from './scanning.ts';

/**
 * Finds in a verified range the attempts that may land yet. Only where epochs end them: there no blocks are read anew to prove one
 * dead, but nodes are asked for it, and one that was read here is not dead whatever they answer. The signer commits an attempt before
 * it sends it, so whoever has read it in a block finds it open.
 */
export async function findLanded(
  { network, store }: Pick<Scanning, 'network' | 'store'>,
  { headers, actors }: RangeRead,
): Promise<readonly LandedTransaction[]> {
  if (actors === undefined || actors.length === 0 || headers[0]?.epoch === undefined) return [];
  const open = await store.openAttempts(network.chain);
  if (open.size === 0) return [];
  const found = new Map<TxHash, LandedTransaction>();
  for (const { txHash, blockHeight } of actors) {
    if (!open.has(txHash)) continue;
    const header = headers.find(({ height }) => height === blockHeight);
    if (header !== undefined) found.set(txHash, { txHash, blockHeight, blockHash: header.hash });
  }
  return [...found.values()];
}
