import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import type { RangeRead } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import type { BlockRange } from './reading.ts';
import type { EvmSource } from './sources.ts';

/**
 * `blocksMax` is evaluated before each call. A call that is rejected as too large is repeated with half as many blocks;
 * each success doubles them again.
 * Each part names the hash of the block below it, which must be the last one of the part before. Returns the last header
 * and those of `isWanted`.
 */
export async function readInCalls(
  { from, to }: BlockRange,
  blocksMax: () => number,
  readCall: (range: BlockRange) => Promise<RangeRead>,
  isWanted: (height: number) => boolean,
): Promise<RangeRead> {
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || from < 0 || to < from) {
    throw new RangeError(`not a range of blocks: ${from} to ${to}`);
  }
  const headers: BlockHeader[] = [];
  const transfers: CandidateTransfer[] = [];
  let halved = Number.POSITIVE_INFINITY;
  let below: BlockHash | undefined;
  for (let first = from; first <= to;) {
    const call = { from: first, to: Math.min(to, first + Math.max(1, Math.min(blocksMax(), halved)) - 1) };
    try {
      const read = await readCall(call);
      if (first === from) ({ below } = read);
      else if (read.below !== headers.at(-1)?.hash)
        throw readerError('INCONSISTENT_ANSWER', 'the chain changed while the range was read', {
          height: first,
        });
      for (const header of read.headers) headers.push(header);
      for (const transfer of read.transfers) transfers.push(transfer);
      halved *= 2;
      first = call.to + 1;
    } catch (error) {
      if (!isTooLarge(call, error)) throw error;
      halved = (call.to - call.from + 1) >> 1;
    }
  }
  return {
    headers: headers.filter(({ height }) => height === to || isWanted(height)),
    ...(below === undefined ? {} : { below }),
    transfers,
  };
}

export function isTooLarge({ from, to }: BlockRange, error: unknown): boolean {
  return from < to && isReaderError(error, 'RPC_RANGE_TOO_LARGE');
}

/** Blocks of a log request: several blocks are asked for with the one below them. */
function blocksAsked({ from, to }: BlockRange): number {
  return from === to ? 1 : to - from + 2;
}

/** Blocks of a range whose log request has at most so many. */
function blocksWithin(asked: number): number {
  return Math.max(1, asked - 1);
}

export function noteTooLarge(
  source: EvmSource,
  range: BlockRange,
  error: unknown,
  asked = blocksAsked(range),
): void {
  if (!isTooLarge(range, error)) return;
  // An answer that is only suspected to be cut off says little about the next one.
  if (isReaderError(error, 'RPC_RANGE_TOO_LARGE') && error.context['isLimit'] === false) return;
  const suggested = isReaderError(error, 'RPC_RANGE_TOO_LARGE')
    ? error.context['suggestedBlocks']
    : undefined;
  source.blockRange.refused(typeof suggested === 'number' ? suggested : undefined, asked);
}

/** `logs`: entries of the answer. Undefined if it has none, or not all. */
export function noteAccepted(source: EvmSource, range: BlockRange, logs: number | undefined): void {
  source.blockRange.accepted(blocksAsked(range));
  if (logs !== undefined) source.blocksPerCall.note(range, logs);
}

/** Blocks whose logs the source returns in one answer. */
export function blocksPerCallOf({ blocksPerCall, blockRange }: EvmSource): number {
  return Math.min(blocksPerCall.now(), blocksWithin(blockRange.blocks()));
}
