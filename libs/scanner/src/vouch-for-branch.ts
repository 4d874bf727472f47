import type { BlockHeader } from '@opentill/chain/block';
import type { ChainReader, ReadOptions } from '@opentill/chain/chain-reader';
import { GatewayError } from '@opentill/domain/gateway-error';
import { scanError } from './scan-error.ts';

/**
 * Has a second source confirm the first block of a branch that would take verified blocks back, or halt the chain.
 * Throws BRANCH_NOT_VOUCHED while it does not: the chain is held where it stands.
 */
export async function vouchForBranch(
  reader: Pick<ChainReader, 'vouch'>,
  { height, hash }: BlockHeader,
  options: ReadOptions,
): Promise<void> {
  try {
    await reader.vouch({ height, hash }, options);
  } catch (error) {
    if (options.signal?.aborted === true || !(error instanceof GatewayError)) throw error;
    throw scanError(
      'BRANCH_NOT_VOUCHED',
      'one source alone shows another branch from below the verified block on',
      { height, hash, why: error.code },
      error,
    );
  }
}
