import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import { blockRequest } from './block-requests.ts';
import type { EvmClient } from './client.ts';
import type { EvmHeader } from './decode.ts';
import { sameHeader } from './decode.ts';
import { headerIn } from './read-blocks.ts';
import type { Reading } from './reading.ts';
import type { EvmSource } from './sources.ts';

/** By height. */
export type PaidBlocks = ReadonlyMap<number, EvmHeader>;

/** Heights of candidates in blocks whose headers are not known: of a range, sources return only the last header. */
export function unknownHeights(
  candidates: readonly CandidateTransfer[],
  known: readonly BlockHeader[],
): readonly number[] {
  const hashes = new Set(known.map(({ hash }) => hash));
  const unknown = candidates.filter(({ blockHash }) => !hashes.has(blockHash));
  return [...new Set(unknown.map(({ blockHeight }) => blockHeight))];
}

/** Asked by height, so that a log of a block that is not in the chain is detected. */
export async function readPaidBlocks(
  source: Pick<EvmClient, 'batch'>,
  heights: readonly number[],
  options: ReadOptions,
): Promise<PaidBlocks> {
  if (heights.length === 0) return new Map();
  const answers = await source.batch(
    heights.map((height) => blockRequest(height)),
    options,
  );
  return new Map(heights.map((height, place) => [height, headerIn(answers[place], height)]));
}

export function isInAnotherBlock(blocks: PaidBlocks, { blockHeight, blockHash }: CandidateTransfer): boolean {
  return (blocks.get(blockHeight)?.hash ?? blockHash) !== blockHash;
}

/**
 * The time of a block decides if an order is paid in time. A hash commits to it: if two sources differ, one is wrong,
 * and the reader cannot know which.
 */
export function checkTimes(
  reading: Pick<Reading, 'onCompared'>,
  witnesses: readonly { readonly source: Pick<EvmSource, 'label'>; readonly blocks: PaidBlocks }[],
): void {
  const [first, second] = witnesses;
  if (first === undefined || second === undefined) return;
  for (const [height, header] of first.blocks) {
    const other = second.blocks.get(height);
    if (other !== undefined && sameHeader(header, other)) continue;
    reading.onCompared({
      outcome: 'CONTENTS_DIFFER',
      sources: [first.source.label, second.source.label],
      height,
    });
    throw readerError('INCONSISTENT_ANSWER', 'two sources give different contents of a block', {
      height,
      hash: header.hash,
    });
  }
}
