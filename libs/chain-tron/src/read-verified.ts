import type { RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import { askAgain } from '@opentill/chain-sources/ask-again';
import type { SourceAnswer } from '@opentill/chain-sources/ask-two-sources';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import { retryRead, createRetryBudget } from './retry-read.ts';
import { haveDifferentContents } from './compare-blocks.ts';
import { plainHeader } from './decode-block.ts';
import { actsIn, readBlock, type BlockAccount, type ReadBlock } from './read-block.ts';
import { requireLinked, mapHeights } from './read-range.ts';
import type { BlockRange, Reading, SourceComparison } from './reading.ts';
import { createProvingReader, createDeduplicatingReader, type BlockReader } from './deduplicate-blocks.ts';
import type { SeenBlocks } from './seen-blocks.ts';
import type { Side } from './tron-client.ts';
import type { TronSource, TronSources } from './tron-sources.ts';
import { readHeader } from './tron-sources.ts';

interface SourceBlocks {
  readonly blocks: readonly ReadBlock[];
  readonly isSolid: boolean;
  /** The source was not asked now; it returned these blocks in the seen pass. */
  readonly isRemembered: boolean;
}

/**
 * Whole blocks with all receipts, from two sources, which must return the same; from one source only where permitted.
 *
 * At least one source must have the blocks on its solid side: nodes behind one URL may be behind the node that returned
 * the solid height.
 *
 * One of the two may have returned the blocks before, in the seen pass. It then only confirms the hash of the last one.
 * If the other source returns something else, or cannot be asked, the first is asked again.
 */
export async function readVerifiedBlocks(
  {
    reading,
    sources,
    seen,
  }: { readonly reading: Reading; readonly sources: TronSources; readonly seen: SeenBlocks },
  range: BlockRange,
  options: ReadOptions,
): Promise<RangeRead> {
  const ask = askingFor({ reading, sources, seen }, range);
  const question = { height: range.to, onSingleSource: reading.onSingleSource };
  let answers = await askTwoSources(sources, { ...question, ask: ask.orRemembered }, options);
  // Asked separately, so that a source that fails now is replaced by another one.
  if (dependsOnMemory(answers))
    answers = await askTwoSources(sources, { ...question, ask: ask.anew }, options);
  const [first, second] = answers;
  sources.noteCompleteness(first.source, true);
  if (!first.answer.isSolid && second?.answer.isSolid !== true)
    throw readerError('BLOCK_NOT_FOUND', 'the block is not solid', { height: range.to });
  const blocks =
    second === undefined
      ? await blocksOfOne(reading, sources, first, range, options)
      : await agreedBlocks(reading, sources, first, second, options);
  return {
    headers: blocks.map(({ header }) => plainHeader(header)),
    transfers: blocks.flatMap(({ transfers }) => transfers),
    transactions: blocks.reduce((sum, { owned }) => sum + owned.length, 0),
    actsOf: (wallets) => actsIn(blocks, wallets),
  };
}

/** If a single source is accepted although others are configured, the blocks are read again with proofs. */
async function blocksOfOne(
  reading: Reading,
  sources: TronSources,
  { source, answer }: SourceAnswer<TronSource, SourceBlocks>,
  range: BlockRange,
  options: ReadOptions,
): Promise<readonly ReadBlock[]> {
  if (sources.all().length === 1) return answer.blocks; // already read with proofs
  const { blocks } = await readSource(createProvingReader(reading), source, range, options);
  if (blocks.every(({ header: { hash } }, place) => hash === answer.blocks[place]?.header.hash))
    return blocks;
  throw readerError('INCONSISTENT_ANSWER', 'the chain changed while the range was read', {
    height: range.from,
  });
}

interface Asking {
  /** A single source may answer from memory, the same one each time: the first that read all of the range before. */
  readonly orRemembered: (source: TronSource, options: ReadOptions) => Promise<SourceBlocks>;
  readonly anew: (source: TronSource, options: ReadOptions) => Promise<SourceBlocks>;
}

function askingFor(
  {
    reading,
    sources,
    seen,
  }: { readonly reading: Reading; readonly sources: TronSources; readonly seen: SeenBlocks },
  range: BlockRange,
): Asking {
  const blockReader =
    sources.all().length > 1 ? createDeduplicatingReader(reading) : createProvingReader(reading);
  const answered = new Map<TronSource, SourceBlocks>();
  let remembering: TronSource | undefined;
  const anew: Asking['anew'] = async (source, options) => {
    const testimony = answered.get(source) ?? (await readSource(blockReader, source, range, options));
    answered.set(source, testimony);
    return testimony;
  };
  return {
    anew,
    async orRemembered(source, options) {
      if (sources.all().length > 1 && seen.blocksOf(source, range) !== undefined) remembering ??= source;
      const blocks = remembering === source ? await readRemembered(seen, source, range, options) : undefined;
      return blocks === undefined ? anew(source, options) : { blocks, isSolid: true, isRemembered: true };
    },
  };
}

type Answers = readonly [
  SourceAnswer<TronSource, SourceBlocks>,
  SourceAnswer<TronSource, SourceBlocks> | undefined,
];

/** A remembered answer counts only if a second source returns the same now. */
function dependsOnMemory([first, second]: Answers): boolean {
  if (second !== undefined && haveSameBlocks(first.answer, second.answer)) return false;
  return first.answer.isRemembered || second?.answer.isRemembered === true;
}

/** The source must return the last block as solid now. Undefined if the block has left the source's chain. */
async function readRemembered(
  seen: SeenBlocks,
  source: TronSource,
  range: BlockRange,
  options: ReadOptions,
): Promise<readonly ReadBlock[] | undefined> {
  const blocks = seen.blocksOf(source, range);
  const last = blocks?.at(-1)?.header;
  if (blocks === undefined || last === undefined || !areLinked(blocks)) return undefined;
  if (seen.isSolid(source, last)) return blocks;
  try {
    const solid = await readHeader(source, options, last.height, 'walletsolidity');
    return solid.hash === last.hash ? blocks : undefined;
  } catch (error) {
    if (isReaderError(error, 'BLOCK_NOT_FOUND')) return undefined;
    throw error;
  }
}

function areLinked(blocks: readonly ReadBlock[]): boolean {
  return blocks.every(
    ({ header: { parentHash } }, place) => place === 0 || blocks[place - 1]?.header.hash === parentHash,
  );
}

async function readSource(
  blockReader: BlockReader,
  source: TronSource,
  range: BlockRange,
  options: ReadOptions,
): Promise<SourceBlocks> {
  const read = async (side: Side): Promise<SourceBlocks> => {
    const budget = createRetryBudget();
    const blocks = await mapHeights(
      range,
      (height, own) => retryRead(() => blockReader.readBlock(source, side, height, own), budget, own),
      options,
    );
    requireLinked(blocks.map(({ header }) => header));
    return { blocks, isSolid: side === 'walletsolidity', isRemembered: false };
  };
  try {
    return await read('walletsolidity');
  } catch (error) {
    if (!isReaderError(error, 'BLOCK_NOT_FOUND')) throw error;
    return read('wallet');
  }
}

/** Retries: of so many requests one often fails. */
export async function readBlocks(
  source: TronSource,
  side: Side,
  range: BlockRange,
  options: ReadOptions,
): Promise<readonly BlockAccount[]> {
  const budget = createRetryBudget();
  const read = (height: number, own: ReadOptions): Promise<BlockAccount> =>
    retryRead(() => readBlock(source, side, height, own), budget, own);
  const accounts = await mapHeights(range, read, options);
  requireLinked(accounts.map(({ header }) => header));
  return accounts;
}

/**
 * A block on which the sources differ is read again from both, up to three times, so that a passing difference does not
 * discard the whole range. If they still differ, throws: it is unknown which one is right.
 */
async function agreedBlocks(
  reading: Reading,
  sources: TronSources,
  first: SourceAnswer<TronSource, SourceBlocks>,
  second: SourceAnswer<TronSource, SourceBlocks>,
  options: ReadOptions,
): Promise<readonly ReadBlock[]> {
  sources.noteCompleteness(second.source, true);
  const labels = [first.source.label, second.source.label] as const;
  const agreed: ReadBlock[] = [];
  for (const [place, own] of first.answer.blocks.entries()) {
    const { height } = own.header;
    let [ours, theirs]: readonly (ReadBlock | undefined)[] = [own, second.answer.blocks[place]];
    for (let times = 0; times < ASKED_AGAIN && haveDifferentContents(ours, theirs); times += 1)
      [ours, theirs] = await Promise.all(
        [first, second].map(async ({ source }) => {
          const range = { from: height, to: height };
          const anew = createDeduplicatingReader(reading);
          return (await askAgain(() => readSource(anew, source, range, options), options)).blocks[0];
        }),
      );
    if (ours === undefined || theirs?.header.hash !== ours.header.hash)
      throw differing(reading, 'FORKED', labels, height);
    if (haveDifferentContents(ours, theirs)) throw differing(reading, 'CONTENTS_DIFFER', labels, height);
    noteAgreement(ours, theirs);
    agreed.push(ours);
  }
  reading.onCompared({ outcome: 'AGREED', sources: labels, height: agreed.at(-1)?.header.height ?? 0 });
  requireLinked(agreed.map(({ header }) => header));
  return agreed;
}

const ASKED_AGAIN = 3;

function haveSameBlocks({ blocks: ours }: SourceBlocks, { blocks: theirs }: SourceBlocks): boolean {
  return ours.every((own, place) => {
    const other = theirs[place];
    return other?.header.hash === own.header.hash && !haveDifferentContents(own, other);
  });
}

/** Transfers of a block that two sources returned identically need no further request. */
function noteAgreement({ transfers: ours }: ReadBlock, { transfers: theirs }: ReadBlock): void {
  const [first] = ours;
  if (first === undefined) return;
  first.agreement.isByTwo = ours.every(({ feeSun }, place) => theirs[place]?.feeSun === feeSun);
}

function differing(
  reading: Reading,
  outcome: SourceComparison['outcome'],
  sources: readonly [string, string],
  height: number,
): Error {
  reading.onCompared({ outcome, sources, height });
  const what = outcome === 'FORKED' ? 'have different blocks' : 'return different contents of a block';
  return readerError('INCONSISTENT_ANSWER', `two sources ${what}`, { outcome, sources, height });
}
