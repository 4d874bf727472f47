import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import type { ConfirmOptions, ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import { blockByHashRequest } from './block-requests.ts';
import type { EvmClient } from './client.ts';
import { decodeHeader } from './decode.ts';
import type { Reading } from './reading.ts';
import type { EvmSource, EvmSources } from './sources.ts';

/** Seconds since 1970. */
export type BlockTimes = ReadonlyMap<BlockHash, number>;

export type UnconfirmedTimes = ReadonlyMap<BlockHash, BlockHeader>;

const NONE: BlockTimes = new Map();

/**
 * Blocks of the candidates whose time only one source has reported: the verified pass reads the inner blocks of a range
 * from one source. Their linked hashes are certain, their times are not, and decide if an order is paid in time.
 */
export function unconfirmedTimesOf(
  { native }: Pick<Reading, 'native'>,
  sources: Pick<EvmSources, 'all'>,
  candidates: readonly CandidateTransfer[],
  { headers = [], byOneSource = false }: ConfirmOptions,
): UnconfirmedTimes {
  // With the native coin, all blocks are read from both sources. With one source there is no second to ask.
  if (byOneSource || native || sources.all().length === 1) return new Map();
  const paidIn = new Set(candidates.map(({ blockHash }) => blockHash));
  const unconfirmed = headers.slice(1, -1).filter(({ hash }) => paidIn.has(hash));
  return new Map(unconfirmed.map((header) => [header.hash, header]));
}

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

/** A hash commits to its block's time. If two sources differ, one is wrong, and the reader cannot know which. */
export function checkTimes(
  reading: Pick<Reading, 'onCompared'>,
  witnesses: readonly { readonly source: Pick<EvmSource, 'label'>; readonly times: BlockTimes }[],
  unconfirmed: UnconfirmedTimes,
): void {
  for (const [hash, { height, timeSeconds: told }] of unconfirmed) {
    const said = witnesses.map(({ times }) => times.get(hash));
    if (said.every((timeSeconds) => timeSeconds === told)) continue;
    const [first = '', second = ''] = witnesses.map(({ source }) => source.label);
    reading.onCompared({ outcome: 'CONTENTS_DIFFER', sources: [first, second], height });
    throw readerError('INCONSISTENT_ANSWER', 'two sources report different times of a block', {
      height,
      hash,
      told,
      said,
    });
  }
}
