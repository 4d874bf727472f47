import type { Actor, RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import { askAgain } from '@opentill/chain-sources/ask-again';
import type { Said } from '@opentill/chain-sources/ask-two-sources';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import { createAnswerTwin, SAME, type AnswerTwin } from './answer-twin.ts';
import type { TronHeader } from './decode-block.ts';
import { plainHeader } from './decode-block.ts';
import type { BlockAccount, BlockTwins } from './read-block.ts';
import { askForBlock, decodeAccount, readBlock, transfersOf } from './read-block.ts';
import { mustBeLinked, ofEach } from './read-range.ts';
import type { BlockRange, Reading, SourceComparison } from './reading.ts';
import type { Side } from './tron-client.ts';
import type { TronSource, TronSources } from './tron-sources.ts';

interface ReadBlock {
  readonly header: TronHeader;
  readonly transfers: readonly CandidateTransfer[];
  readonly actors: readonly Actor[];
}

/** What one source says of a few blocks. */
interface Testimony {
  readonly blocks: readonly ReadBlock[];
  /** Whether it calls them all solid itself. */
  readonly isSolid: boolean;
}

/**
 * Reads a few blocks for the verified pass: whole, with all receipts, from two sources, which must give the same blocks
 * and the same transfers; from one where it may stand alone. At least one of them must have the blocks on its solid
 * side: behind one URL may stand nodes that are not yet where the one stood that named the solid height.
 */
export async function readVerifiedBlocks(
  reading: Reading,
  sources: TronSources,
  range: BlockRange,
  options: ReadOptions,
): Promise<RangeRead> {
  const retold = createRetelling(reading);
  const ask = (source: TronSource, own: ReadOptions): Promise<Testimony> =>
    testify(retold, source, range, own);
  const question = { ask, height: range.to, onAlone: reading.onAlone };
  const [first, second] = await askTwoSources(sources, question, options);
  sources.noteCompleteness(first.source, true);
  if (!first.answer.isSolid && second?.answer.isSolid !== true)
    throw readerError('BLOCK_NOT_FOUND', 'the block is not solid', { height: range.to });
  const blocks =
    second === undefined ? first.answer.blocks : await agreedBlocks(reading, sources, first, second, options);
  return {
    headers: blocks.map(({ header }) => plainHeader(header)),
    transfers: blocks.flatMap(({ transfers }) => transfers),
    actors: blocks.flatMap(({ actors }) => actors),
  };
}

/** What the sources that are asked for the same blocks share: a block that both tell in the same bytes is one object. */
interface Retelling {
  readBlock(source: TronSource, side: Side, height: number, options: ReadOptions): Promise<ReadBlock>;
}

function createRetelling(reading: Reading): Retelling {
  const heights = new Map<number, BlockTwins & { told?: ReadBlock }>();
  return {
    async readBlock(source, side, height, options) {
      const twins = heights.get(height) ?? { block: createAnswerTwin(), infos: createAnswerTwin() };
      heights.set(height, twins);
      const [block, infos] = await askForBlock(source, side, height, options, twins);
      const areFirst = twins.block.isFirst(block) && twins.infos.isFirst(infos);
      if (areFirst && twins.told !== undefined) return twins.told;
      const raw = (value: unknown, twin: AnswerTwin): unknown => (value === SAME ? twin.again() : value);
      const account = decodeAccount(
        raw(block, twins.block),
        raw(infos, twins.infos),
        height,
        reading.addressOf,
      );
      const { header } = account;
      const read = { header, transfers: transfersOf(reading, account), actors: actorsIn(account) };
      if (!areFirst) return read;
      twins.told = read;
      twins.block.release();
      twins.infos.release();
      return read;
    },
  };
}

async function testify(
  retelling: Retelling,
  source: TronSource,
  range: BlockRange,
  options: ReadOptions,
): Promise<Testimony> {
  const read = async (side: Side): Promise<Testimony> => {
    const blocks = await ofEach(
      range,
      (height, own) =>
        askAgain(() => untilConsistent(() => retelling.readBlock(source, side, height, own)), own),
      options,
    );
    mustBeLinked(blocks.map(({ header }) => header));
    return { blocks, isSolid: side === 'walletsolidity' };
  };
  try {
    return await read('walletsolidity');
  } catch (error) {
    if (!isReaderError(error, 'BLOCK_NOT_FOUND')) throw error;
    return read('wallet');
  }
}

const TRIES = 3;

/**
 * Reads a block once more, and again, whose parts contradict each other: behind one URL stand several nodes, and of so many
 * blocks one would fail often.
 */
async function untilConsistent<T>(read: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await read();
    } catch (error) {
      if (tries === TRIES || !isReaderError(error, 'INCONSISTENT_ANSWER')) throw error;
    }
  }
}

/**
 * A few blocks with their receipts from one source, linked. Each is asked for again at once after a passing fault: of so
 * many requests one fails often.
 */
export async function readBlocks(
  source: TronSource,
  side: Side,
  range: BlockRange,
  options: ReadOptions,
): Promise<readonly BlockAccount[]> {
  const read = (height: number, own: ReadOptions): Promise<BlockAccount> =>
    askAgain(() => readBlock(source, side, height, own), own);
  const accounts = await ofEach(range, read, options);
  mustBeLinked(accounts.map(({ header }) => header));
  return accounts;
}

/**
 * The blocks that both tell alike. Of a block whose contents differ both are asked once more, and again: what passes must
 * not undo all the others. Two sources on different forks, or that stay with different contents of one block: nothing says
 * which of them is right.
 */
async function agreedBlocks(
  reading: Reading,
  sources: TronSources,
  first: Said<TronSource, Testimony>,
  second: Said<TronSource, Testimony>,
  options: ReadOptions,
): Promise<readonly ReadBlock[]> {
  sources.noteCompleteness(second.source, true);
  const labels = [first.source.label, second.source.label] as const;
  const agreed: ReadBlock[] = [];
  for (const [place, own] of first.answer.blocks.entries()) {
    const { height } = own.header;
    let [ours, theirs]: readonly (ReadBlock | undefined)[] = [own, second.answer.blocks[place]];
    for (let times = 0; times < ASKED_AGAIN && areOtherContents(ours, theirs); times += 1)
      [ours, theirs] = await Promise.all(
        [first, second].map(async ({ source }) => {
          const range = { from: height, to: height };
          const anew = createRetelling(reading);
          return (await askAgain(() => testify(anew, source, range, options), options)).blocks[0];
        }),
      );
    if (ours === undefined || theirs?.header.hash !== ours.header.hash)
      throw differing(reading, 'FORKED', labels, height);
    if (areOtherContents(ours, theirs)) throw differing(reading, 'CONTENTS_DIFFER', labels, height);
    agreed.push(ours);
  }
  reading.onCompared({ outcome: 'AGREED', sources: labels, height: agreed.at(-1)?.header.height ?? 0 });
  mustBeLinked(agreed.map(({ header }) => header));
  return agreed;
}

const ASKED_AGAIN = 3;

/** The same block, told otherwise. */
function areOtherContents(ours: ReadBlock | undefined, theirs: ReadBlock | undefined): boolean {
  if (ours === theirs || ours === undefined || theirs === undefined) return false;
  if (ours.header.hash !== theirs.header.hash) return false;
  return (
    ours.header.timeMs !== theirs.header.timeMs ||
    !sameTransfers(ours.transfers, theirs.transfers) ||
    !sameActors(ours.actors, theirs.actors)
  );
}

/** One that a node shows otherwise than chains do is nobody's. */
function actorsIn({ header: { height: blockHeight }, entries }: BlockAccount): readonly Actor[] {
  return entries.flatMap(({ transaction: { txHash, owner } }) =>
    owner === undefined ? [] : [{ txHash, wallet: owner, blockHeight }],
  );
}

function sameActors(ours: readonly Actor[], theirs: readonly Actor[]): boolean {
  return (
    ours.length === theirs.length &&
    ours.every(({ txHash, wallet }, place) => {
      const other = theirs[place];
      return other?.txHash === txHash && other.wallet === wallet;
    })
  );
}

function differing(
  reading: Reading,
  outcome: SourceComparison['outcome'],
  sources: readonly [string, string],
  height: number,
): Error {
  reading.onCompared({ outcome, sources, height });
  const what = outcome === 'FORKED' ? 'have different blocks' : 'give different contents of a block';
  return readerError('INCONSISTENT_ANSWER', `two sources ${what}`, { outcome, sources, height });
}

/** Whether two lists, both in the order of the block, name the same transfers at the same places. */
export function sameTransfers(
  ours: readonly CandidateTransfer[],
  theirs: readonly CandidateTransfer[],
): boolean {
  return (
    ours.length === theirs.length &&
    ours.every((transfer, place) => theirs[place] !== undefined && sameTransfer(transfer, theirs[place]))
  );
}

export function sameTransfer(a: CandidateTransfer, b: CandidateTransfer): boolean {
  return (
    a.txHash === b.txHash &&
    a.blockHash === b.blockHash &&
    a.indexInBlock === b.indexInBlock &&
    a.contract === b.contract &&
    a.from === b.from &&
    a.to === b.to &&
    a.amountBaseUnits === b.amountBaseUnits
  );
}
