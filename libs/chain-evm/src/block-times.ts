import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import type { ConfirmOptions, ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import { blockByHashRequest } from './block-requests.ts';
import type { EvmClient } from './client.ts';
import { decodeHeader } from './decode.ts';
import type { Reading } from './reading.ts';
import type { EvmSource, EvmSources } from './sources.ts';

/** Seconds since 1970 by the hash of the block. */
export type BlockTimes = ReadonlyMap<BlockHash, number>;

/** Blocks of which one source alone has told the time, by their hash. */
export type DoubtedBlocks = ReadonlyMap<BlockHash, BlockHeader>;

const NONE: BlockTimes = new Map();

/**
 * The times of the candidates' blocks that one source alone has told. The verified pass reads the first and the last
 * block of a range from two sources, those between from one: they are linked, so their hashes are beyond doubt, and
 * nothing rests on their times, unless somebody was paid in one of them. An order is paid in time or late by that time.
 */
export function timesInDoubt(
  { native }: Pick<Reading, 'native'>,
  sources: Pick<EvmSources, 'all'>,
  candidates: readonly CandidateTransfer[],
  { headers = [], byOneSource = false }: ConfirmOptions,
): DoubtedBlocks {
  // With the native coin all blocks are read from both; with one source nobody else can be asked.
  if (byOneSource || native || sources.all().length === 1) return new Map();
  const paidIn = new Set(candidates.map(({ blockHash }) => blockHash));
  const doubted = headers.slice(1, -1).filter(({ hash }) => paidIn.has(hash));
  return new Map(doubted.map((header) => [header.hash, header]));
}

/** The times that a source tells of these blocks. Throws BLOCK_NOT_FOUND, or INCONSISTENT_ANSWER for another block. */
export async function readTimes(
  source: Pick<EvmClient, 'batch'>,
  hashes: readonly BlockHash[],
  options: ReadOptions,
): Promise<BlockTimes> {
  if (hashes.length === 0) return NONE;
  const answers = await source.batch(hashes.map(blockByHashRequest), options);
  return new Map(
    hashes.map((hash, place) => {
      if (answers[place] === null)
        throw readerError('BLOCK_NOT_FOUND', 'the node does not have the block', { hash });
      const header = decodeHeader(answers[place]);
      if (header.hash !== hash)
        throw readerError('INCONSISTENT_ANSWER', 'the node answered another block', { hash });
      return [hash, header.timeSeconds];
    }),
  );
}

/** A hash commits to its block's time: of two times of one block, one is a lie, and nothing says which. */
export function mustBeTheTimes(
  reading: Pick<Reading, 'onCompared'>,
  witnesses: readonly { readonly source: Pick<EvmSource, 'label'>; readonly times: BlockTimes }[],
  doubted: DoubtedBlocks,
): void {
  for (const [hash, { height, timeSeconds: told }] of doubted) {
    const said = witnesses.map(({ times }) => times.get(hash));
    if (said.every((timeSeconds) => timeSeconds === told)) continue;
    const [first = '', second = ''] = witnesses.map(({ source }) => source.label);
    reading.onCompared({ outcome: 'CONTENTS_DIFFER', sources: [first, second], height });
    throw readerError('INCONSISTENT_ANSWER', 'a block is given different times', {
      height,
      hash,
      told,
      said,
    });
  }
}
