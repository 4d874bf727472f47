import type { ChainReader, ReadOptions } from '@opentill/chain/chain-reader';
import type { ChainState } from './chain-state.ts';
import type { ScanNetwork } from './scan-network.ts';
import { verifiableHeight } from './verifiable-height.ts';

/**
 * Where to begin a chain that was never scanned: at the verified depth under the head, so that the seen pass takes in
 * what lies above. Nothing older matters, since the chain takes no order before this is committed. Where a fork may
 * reach deeper than the verified depth, the blocks of the reorganisation window are read as well. The block to begin at
 * is vouched for: begun above the true head, what is paid below it would be left out.
 */
export async function readFirstState(
  { network, reader }: { readonly network: ScanNetwork; readonly reader: ChainReader },
  options: ReadOptions,
): Promise<ChainState> {
  const head = await reader.head(options);
  const finalizedHeight =
    network.confirmations === 'finalized'
      ? Math.min(await reader.finalizedHeight(options), head.height)
      : null;
  const facts = { linkedHeight: head.height, finalizedHeight, isFinalityStale: false };
  const verifiedHeight = Math.max(0, verifiableHeight(network, facts));
  const oldestHeight =
    finalizedHeight === null ? Math.max(0, verifiedHeight - network.reorgWindow) : verifiedHeight;
  const blocks = await reader.headers(oldestHeight, verifiedHeight, options);
  const verified = blocks.at(-1);
  if (verified !== undefined) await reader.vouch(verified, options);
  return { head, finalizedHeight, verifiedHeight, blocks };
}
