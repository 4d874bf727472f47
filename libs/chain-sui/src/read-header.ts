import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { SuiHeader } from './sui-header.ts';
import { decodeHeader, HEADER_MASK } from './decode-checkpoint.ts';
import type { SuiSource } from './sui-sources.ts';

/** The newest checkpoint by default. BLOCK_NOT_FOUND if the source lacks it. */
export async function readHeader(
  source: Pick<SuiSource, 'ask'>,
  options: ReadOptions,
  height?: number,
): Promise<SuiHeader> {
  const checkpointId =
    height === undefined
      ? ({ oneofKind: undefined } as const)
      : ({ oneofKind: 'sequenceNumber', sequenceNumber: BigInt(height) } as const);
  return source.ask(async ({ ledger }, call) => {
    const { response } = await ledger.getCheckpoint({ checkpointId, readMask: HEADER_MASK }, call);
    return decodeHeader(response.checkpoint, height);
  }, options);
}
