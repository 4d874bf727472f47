import type { ReadOptions } from '@opentill/chain/chain-reader';
import { createAnswerDeduplicator, SAME, type AnswerDeduplicator } from './deduplicate-answers.ts';
import type { Decoded, ReadBlock, RawBlock, RawInfos } from './read-block.ts';
import { blockCalls, joinAccount, NO_INFOS, readBlock, readBlockOf } from './read-block.ts';
import type { Reading } from './reading.ts';
import type { Side, TronCall } from './tron-client.ts';
import type { TronSource } from './tron-sources.ts';

interface SharedBlock {
  readonly block: AnswerDeduplicator;
  readonly infos: AnswerDeduplicator;
  result?: ReadBlock;
}

/** A block that several sources return in the same bytes is one object. */
export interface BlockReader {
  readBlock(source: TronSource, side: Side, height: number, options: ReadOptions): Promise<ReadBlock>;
}

/** Without a second source the header must prove the transactions. */
export function createProvingReader(reading: Reading): BlockReader {
  return {
    readBlock: async (source, side, height, options) =>
      readBlockOf(reading, await readBlock(source, side, height, { ...options, withProof: true })),
  };
}

export function createDeduplicatingReader(reading: Reading): BlockReader {
  const heights = new Map<number, SharedBlock>();
  return {
    async readBlock(source, side, height, options) {
      const shared: SharedBlock = heights.get(height) ?? {
        block: createAnswerDeduplicator(),
        infos: createAnswerDeduplicator(),
      };
      heights.set(height, shared);
      const { ofBlock, ofInfos } = blockCalls(side, height);
      const ask = (call: TronCall, dedup: AnswerDeduplicator): Promise<unknown> =>
        source.call({ ...call, dedup }, options);
      const [block, infos] = await Promise.all([
        ask(ofBlock, shared.block),
        ofInfos === undefined ? NO_INFOS : ask(ofInfos, shared.infos),
      ]);
      const areFirst = shared.block.isFirst(block) && (infos === NO_INFOS || shared.infos.isFirst(infos));
      if (areFirst && shared.result !== undefined) return shared.result;
      const account = joinAccount(
        (block === SAME ? shared.block.parseAgain() : block) as Decoded<RawBlock>,
        (infos === SAME ? shared.infos.parseAgain() : infos) as Decoded<RawInfos>,
      );
      const read = readBlockOf(reading, account);
      if (!areFirst) return read;
      shared.result = read;
      shared.block.release();
      shared.infos.release();
      return read;
    },
  };
}
