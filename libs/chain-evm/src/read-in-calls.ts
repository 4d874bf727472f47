import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import type { RangeRead } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import type { BlockRange } from './reading.ts';
import type { EvmSource } from './sources.ts';

/**
 * `blocksMax` is evaluated before each call. A call that is rejected as too large is repeated with half as many blocks.
 * Each part names the hash of the block below it, which must be the last one of the part before. Unless `hasAllHeaders`,
 * only the last header is returned.
 */
export async function readInCalls(
  { from, to }: BlockRange,
  blocksMax: () => number,
  readCall: (range: BlockRange) => Promise<RangeRead>,
  hasAllHeaders: boolean,
): Promise<RangeRead> {
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || from < 0 || to < from) {
    throw new RangeError(`not a range of blocks: ${from} to ${to}`);
  }
  const headers: BlockHeader[] = [];
  const transfers: CandidateTransfer[] = [];
  const hashes = new Map<number, BlockHash>();
  let logs = 0;
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
      if (!hasAllHeaders) headers.length = 0;
      for (const header of read.headers) headers.push(header);
      for (const transfer of read.transfers) transfers.push(transfer);
      for (const [height, hash] of read.hashes ?? []) hashes.set(height, hash);
      logs += read.logs ?? 0;
      halved = Number.POSITIVE_INFINITY;
      first = call.to + 1;
    } catch (error) {
      if (!isTooLarge(call, error)) throw error;
      halved = (call.to - call.from + 1) >> 1;
    }
  }
  return {
    headers,
    ...(below === undefined ? {} : { below }),
    ...(hashes.size === 0 ? {} : { hashes }),
    logs,
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
export function blocksWithin(asked: number): number {
  return Math.max(1, asked - 1);
}

export function noteTooLarge(
  source: EvmSource,
  range: BlockRange,
  error: unknown,
  asked = blocksAsked(range),
): void {
  if (!isTooLarge(range, error)) return;
  const suggested = isReaderError(error, 'RPC_RANGE_TOO_LARGE')
    ? error.context['suggestedBlocks']
    : undefined;
  source.blockRange.refused(typeof suggested === 'number' ? suggested : undefined, asked);
}

export function noteAccepted(source: EvmSource, range: BlockRange): void {
  source.blockRange.accepted(blocksAsked(range));
}
