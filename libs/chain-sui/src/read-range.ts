import type { Actor, RangeRead } from '@opentill/chain/chain-reader';
import type { BlockHeader } from '@opentill/chain/block';
import type { EpochEnd } from '@opentill/chain/epoch-committee';
import { readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import type { BlockRange, Reading } from './reading.ts';

export async function readRange(
  { perCall }: Pick<Reading, 'perCall'>,
  { from, to }: BlockRange,
  readCall: (range: BlockRange) => Promise<RangeRead>,
): Promise<RangeRead> {
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || from < 0 || to < from)
    throw new RangeError(`invalid range of checkpoints: ${from} to ${to}`);
  const headers: BlockHeader[] = [];
  const transfers: CandidateTransfer[] = [];
  const epochEnds: EpochEnd[] = [];
  let isProven = true;
  let actors: Actor[] | undefined;
  while (headers.length < to - from + 1) {
    const first = from + headers.length;
    const read = await readCall({ from: first, to: Math.min(to, first + perCall.now() - 1) });
    const parent = headers.at(-1);
    if (parent !== undefined && read.headers[0]?.parentHash !== parent.hash)
      throw readerError('INCONSISTENT_ANSWER', 'the sources follow different chains', { height: first });
    headers.push(...read.headers);
    for (const transfer of read.transfers) transfers.push(transfer);
    epochEnds.push(...(read.proof?.epochEnds ?? []));
    isProven &&= read.proof !== undefined;
    if (read.actors === undefined) continue;
    actors ??= [];
    for (const actor of read.actors) actors.push(actor);
  }
  return {
    headers,
    transfers,
    ...(actors === undefined ? {} : { actors }),
    ...(isProven ? { proof: { epochEnds } } : {}),
  };
}
