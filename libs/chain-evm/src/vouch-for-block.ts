import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import { askTwoSources } from './ask-two-sources.ts';
import { blockRequest } from './block-requests.ts';
import { decodeHeader } from './decode.ts';
import type { Reading } from './reading.ts';
import type { EvmSources } from './sources.ts';

/** Has two sources name a block's hash; see ChainReader.vouch. */
export async function vouchForBlock(
  reading: Pick<Reading, 'onAlone' | 'onCompared'>,
  sources: EvmSources,
  { height, hash }: Pick<BlockHeader, 'height' | 'hash'>,
  options: ReadOptions,
): Promise<void> {
  if (sources.all().length === 1) return;
  const [first, second] = await askTwoSources(
    sources,
    {
      ask: async (source, askOptions) => {
        const [raw] = await source.batch([blockRequest(height)], askOptions);
        if (raw === null)
          throw readerError('BLOCK_NOT_FOUND', 'the node does not have the block', { height });
        const header = decodeHeader(raw);
        if (header.height !== height)
          throw readerError('INCONSISTENT_ANSWER', 'the node answered another block', { height });
        return header.hash;
      },
      height,
      onAlone: reading.onAlone,
    },
    options,
  );
  const labels = [first.source.label, second?.source.label ?? first.source.label] as const;
  if (first.answer === hash && (second === undefined || second.answer === hash)) return;
  if (second !== undefined && first.answer !== second.answer)
    reading.onCompared({ outcome: 'FORKED', sources: labels, height });
  throw readerError('INCONSISTENT_ANSWER', 'sources name another block at this height', {
    outcome: 'FORKED',
    sources: labels,
    height,
    hash,
  });
}
