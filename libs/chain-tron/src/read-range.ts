import type { RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import type { BlockHeader } from '@opentill/chain/block';
import { readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import type { TronHeader } from './decode-block.ts';
import type { BlockRange } from './reading.ts';

/** Each block takes two requests. More in flight are not faster (measured). */
export const BLOCKS_PER_CALL = 8;

export async function readRange(
  { from, to }: BlockRange,
  readCall: (range: BlockRange) => Promise<RangeRead>,
): Promise<RangeRead> {
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || from < 0 || to < from)
    throw new RangeError(`invalid range of blocks: ${from} to ${to}`);
  const headers: BlockHeader[] = [];
  const transfers: CandidateTransfer[] = [];
  const acts: NonNullable<RangeRead['actsOf']>[] = [];
  let transactions = 0;
  while (headers.length < to - from + 1) {
    const first = from + headers.length;
    const read = await readCall({ from: first, to: Math.min(to, first + BLOCKS_PER_CALL - 1) });
    const parent = headers.at(-1);
    if (parent !== undefined && read.headers[0]?.parentHash !== parent.hash)
      throw readerError('INCONSISTENT_ANSWER', 'the chain changed while the range was read', {
        height: first,
      });
    headers.push(...read.headers);
    for (const transfer of read.transfers) transfers.push(transfer);
    if (read.actsOf !== undefined) acts.push(read.actsOf);
    transactions += read.transactions ?? 0;
  }
  if (acts.length === 0) return { headers, transfers };
  return {
    headers,
    transfers,
    transactions,
    actsOf: (wallets) => acts.flatMap((actsOf) => actsOf(wallets)),
  };
}

export function mapHeights<T>(
  { from, to }: BlockRange,
  work: (height: number, options: ReadOptions) => Promise<T>,
  { signal }: ReadOptions,
): Promise<readonly T[]> {
  const rest = new AbortController();
  const both = signal === undefined ? rest.signal : AbortSignal.any([signal, rest.signal]);
  const answers = Array.from({ length: to - from + 1 }, (_, place) => work(from + place, { signal: both }));
  return Promise.all(answers).catch(async (error: unknown) => {
    rest.abort();
    await Promise.allSettled(answers);
    throw error;
  });
}

export function requireLinked(headers: readonly TronHeader[]): void {
  for (const [place, header] of headers.entries()) {
    const parent = headers[place - 1];
    if (parent === undefined) continue;
    const { height, hash } = header;
    if (header.parentHash !== parent.hash)
      throw readerError('INCONSISTENT_ANSWER', 'the blocks are not linked', { height, hash });
    if (header.timeMs < parent.timeMs)
      throw readerError('INCONSISTENT_ANSWER', 'a block is older than its parent', {
        height,
        hash,
      });
  }
}
