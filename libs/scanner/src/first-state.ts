import type { ChainReader, ReadOptions } from '@opentill/chain/chain-reader';
import type { ChainState } from './chain-state.ts';
import type { ScanNetwork } from './scan-network.ts';

/**
 * Where to begin a chain that was never scanned: at the verified depth under the head, so that the seen pass takes in
 * what lies above. Nothing older matters, since the chain takes no order before this is committed. Where a fork may
 * reach deeper than the verified depth, the blocks of the reorganisation window are read as well.
 */
export async function readFirstState(
  { network, reader }: { readonly network: ScanNetwork; readonly reader: ChainReader },
  options: ReadOptions,
): Promise<ChainState> {
  const head = await reader.head(options);
  if (network.confirmations === 'finalized') {
    const finalizedHeight = await reader.finalizedHeight(options);
    const verifiedHeight = Math.min(finalizedHeight, head.height);
    const blocks = await reader.headers(verifiedHeight, verifiedHeight, options);
    return { head, finalizedHeight, verifiedHeight, blocks };
  }
  const verifiedHeight = Math.max(0, head.height - network.confirmations + 1);
  const blocks = await reader.headers(
    Math.max(0, verifiedHeight - network.reorgWindow),
    verifiedHeight,
    options,
  );
  return { head, finalizedHeight: null, verifiedHeight, blocks };
}
