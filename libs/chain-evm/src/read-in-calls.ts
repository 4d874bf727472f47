import type { BlockHeader } from '@opentill/chain/block';
import type { RangeRead } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import type { BlockRange } from './reading.ts';
import type { EvmSource } from './sources.ts';

/** More blocks per call bring no gain (measured). */
const BLOCKS_PER_CALL = 20;

/**
 * `blocksMax` is evaluated before each call. A call that is rejected as too large is repeated with half as many blocks.
 */
export async function readInCalls(
  { from, to }: BlockRange,
  blocksMax: () => number,
  readCall: (range: BlockRange) => Promise<RangeRead>,
): Promise<RangeRead> {
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || from < 0 || to < from) {
    throw new RangeError(`not a range of blocks: ${from} to ${to}`);
  }
  const headers: BlockHeader[] = [];
  const transfers: CandidateTransfer[] = [];
  let halved = BLOCKS_PER_CALL;
  while (headers.length < to - from + 1) {
    const first = from + headers.length;
    const call = { from: first, to: Math.min(to, first + Math.max(1, Math.min(blocksMax(), halved)) - 1) };
    try {
      const read = await readCall(call);
      const parent = headers.at(-1);
      if (parent !== undefined && read.headers[0]?.parentHash !== parent.hash) {
        throw readerError('INCONSISTENT_ANSWER', 'the chain changed while the range was read', {
          height: first,
        });
      }
      for (const header of read.headers) headers.push(header);
      for (const transfer of read.transfers) transfers.push(transfer);
      halved = BLOCKS_PER_CALL;
    } catch (error) {
      if (!isTooLarge(call, error)) throw error;
      halved = (call.to - call.from + 1) >> 1;
    }
  }
  return { headers, transfers };
}

export function isTooLarge({ from, to }: BlockRange, error: unknown): boolean {
  return from < to && isReaderError(error, 'RPC_RANGE_TOO_LARGE');
}

export function noteTooLarge(source: EvmSource, range: BlockRange, error: unknown): void {
  if (!isTooLarge(range, error)) return;
  const suggested = isReaderError(error, 'RPC_RANGE_TOO_LARGE')
    ? error.context['suggestedBlocks']
    : undefined;
  source.blockRange.refused(typeof suggested === 'number' ? suggested : undefined, range.to - range.from + 1);
}

export function noteAccepted(source: EvmSource, { from, to }: BlockRange): void {
  source.blockRange.accepted(to - from + 1);
}
