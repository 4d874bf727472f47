import type { ReadOptions } from '@opentill/chain/chain-reader';
import { createAnswerTwin, SAME, type AnswerTwin } from './answer-twin.ts';
import type { Decoded, ReadBlock, ToldBlock, ToldInfos } from './read-block.ts';
import { blockCalls, joinAccount, NO_INFOS, readBlock, readBlockOf } from './read-block.ts';
import type { Reading } from './reading.ts';
import type { Side, TronCall } from './tron-client.ts';
import type { TronSource } from './tron-sources.ts';

/** Deduplicated answers about one block, and the block decoded from the first ones. */
interface BlockTwins {
  readonly block: AnswerTwin;
  readonly infos: AnswerTwin;
  told?: ReadBlock;
}

/** Reads blocks for several sources. A block that they return in the same bytes is one object. */
export interface Retelling {
  readBlock(source: TronSource, side: Side, height: number, options: ReadOptions): Promise<ReadBlock>;
}

/**
 * For a single source: there are no answers to deduplicate, and no second source, so the transactions are proven by
 * the header.
 */
export function createPlainReading(reading: Reading): Retelling {
  return {
    readBlock: async (source, side, height, options) =>
      readBlockOf(reading, await readBlock(source, side, height, { ...options, isToBeProven: true })),
  };
}

export function createRetelling(reading: Reading): Retelling {
  const heights = new Map<number, BlockTwins>();
  return {
    async readBlock(source, side, height, options) {
      const twins: BlockTwins = heights.get(height) ?? {
        block: createAnswerTwin(),
        infos: createAnswerTwin(),
      };
      heights.set(height, twins);
      const { ofBlock, ofInfos } = blockCalls(side, height);
      const ask = (call: TronCall, twin: AnswerTwin): Promise<unknown> =>
        source.call({ ...call, twin }, options);
      const [block, infos] = await Promise.all([
        ask(ofBlock, twins.block),
        ofInfos === undefined ? NO_INFOS : ask(ofInfos, twins.infos),
      ]);
      const areFirst = twins.block.isFirst(block) && (infos === NO_INFOS || twins.infos.isFirst(infos));
      if (areFirst && twins.told !== undefined) return twins.told;
      const account = joinAccount(
        (block === SAME ? twins.block.again() : block) as Decoded<ToldBlock>,
        (infos === SAME ? twins.infos.again() : infos) as Decoded<ToldInfos>,
      );
      const read = readBlockOf(reading, account);
      if (!areFirst) return read;
      twins.told = read;
      twins.block.release();
      twins.infos.release();
      return read;
    },
  };
}
