import type { RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import { askAgain } from '@opentill/chain-sources/ask-again';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import type { TronHeader } from './decode-block.ts';
import { plainHeader } from './decode-block.ts';
import type { BlockAccount } from './read-block.ts';
import { readBlock, transfersOf } from './read-block.ts';
import { mustBeLinked, ofEach } from './read-range.ts';
import type { BlockRange, Reading, SourceComparison } from './reading.ts';
import type { Side } from './tron-client.ts';
import type { TronSource, TronSources } from './tron-sources.ts';

/** What one source says of a few blocks. */
interface Testimony {
  readonly blocks: readonly {
    readonly header: TronHeader;
    readonly transfers: readonly CandidateTransfer[];
  }[];
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
  const ask = (source: TronSource, own: ReadOptions): Promise<Testimony> =>
    testify(reading, source, range, own);
  const question = { ask, height: range.to, onAlone: reading.onAlone };
  const [first, second] = await askTwoSources(sources, question, options);
  sources.noteCompleteness(first.source, true);
  if (!first.answer.isSolid && second?.answer.isSolid !== true)
    throw readerError('BLOCK_NOT_FOUND', 'the block is not solid', { height: range.to });
  if (second !== undefined) {
    sources.noteCompleteness(second.source, true);
    mustAgree(reading, [first.source.label, second.source.label], first.answer, second.answer);
  }
  const { blocks } = first.answer;
  return {
    headers: blocks.map(({ header }) => plainHeader(header)),
    transfers: blocks.flatMap(({ transfers }) => transfers),
  };
}

async function testify(
  reading: Reading,
  source: TronSource,
  range: BlockRange,
  options: ReadOptions,
): Promise<Testimony> {
  const read = async (side: Side): Promise<Testimony> => {
    const accounts = await readBlocks(source, side, range, options);
    const blocks = accounts.map((account) => ({
      header: account.header,
      transfers: transfersOf(reading, account),
    }));
    return { blocks, isSolid: side === 'walletsolidity' };
  };
  try {
    return await read('walletsolidity');
  } catch (error) {
    if (!isReaderError(error, 'BLOCK_NOT_FOUND')) throw error;
    return read('wallet');
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

/** Two sources on different forks, or with different contents of one block: nothing says which of them is right. */
function mustAgree(
  reading: Reading,
  labels: readonly [string, string],
  ours: Testimony,
  theirs: Testimony,
): void {
  const tell = (outcome: SourceComparison['outcome'], height: number): void =>
    reading.onCompared({ outcome, sources: labels, height });
  for (const [place, { header, transfers }] of ours.blocks.entries()) {
    const other = theirs.blocks[place];
    const { height } = header;
    const isSame = other?.header.hash === header.hash;
    if (isSame && other.header.timeMs === header.timeMs && sameTransfers(transfers, other.transfers))
      continue;
    const outcome = isSame ? 'CONTENTS_DIFFER' : 'FORKED';
    tell(outcome, height);
    const what = isSame ? 'give different contents of a block' : 'have different blocks';
    throw readerError('INCONSISTENT_ANSWER', `two sources ${what}`, { outcome, sources: labels, height });
  }
  tell('AGREED', ours.blocks.at(-1)?.header.height ?? 0);
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
