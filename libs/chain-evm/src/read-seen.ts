import type { RangeRead, SeenOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { EvmClient } from './client.ts';
import { decideByReceipts } from './decide-by-receipts.ts';
import { plainHeader } from './decode.ts';
import {
  accountOf,
  blockRequests,
  doubtsIn,
  hashBelow,
  headerAt,
  heightsOf,
  lastHeader,
  logsIn,
  rangeRequests,
  transfersAt,
  unlessTooLarge,
  withHeaders,
  withoutLogs,
} from './read-blocks.ts';
import type { BlockRange, Reading } from './reading.ts';
import { transfersByReceipts } from './transfers-by-receipts.ts';

export interface SeenBlocks extends RangeRead {
  /** Entries of the answer to the request for logs, also those that are no transfers. */
  readonly logs: number | undefined;
}

/**
 * Reads from one source. Only the ends of the range are bound to the chain: a later pass reads it again, from two
 * sources. With `everyBlock` all blocks are, and an empty one counts only if its bloom permits that. Without it, this is
 * so where the bloom of the last block contradicts the logs. RPC_RANGE_TOO_LARGE when the provider rejects more than one
 * block as too many.
 */
export async function readSeenBlocks(
  reading: Reading,
  source: Pick<EvmClient, 'ask' | 'batch'>,
  range: BlockRange,
  { head, below: expected, everyBlock = false, ...options }: SeenOptions,
): Promise<SeenBlocks> {
  const known = head?.height === range.to && !reading.native && reading.tokens.size > 0 ? head : undefined;
  const requests = rangeRequests(reading, range);
  const [blocks, logs] = await Promise.all([
    reading.native ? source.ask(blockRequests(reading, range), options) : undefined,
    unlessTooLarge(range, () => source.ask(known ? requests.slice(0, -1) : requests, options)),
  ]);
  const read = logs === undefined ? withoutLogs(range, blocks) : accountOf(reading, range, { blocks, logs });
  // Where no log names the known head, its bloom must show why.
  const isNamed = known !== undefined && read.byHeight?.get(range.to)?.hash === known.hash;
  const wanted = everyBlock ? heightsOf(range) : isNamed ? [] : [range.to];
  const ends = await withHeaders(read, source, wanted, options);
  // A doubt about the last block is one about the whole answer: its source may lag.
  const isDoubted = reading.bloom && doubtsIn(reading, ends).size > 0;
  const account = isDoubted ? await withHeaders(ends, source, heightsOf(range), options) : ends;
  const last = isNamed ? known : lastHeader(account);
  if (known !== undefined && last.hash !== known.hash)
    throw readerError('INCONSISTENT_ANSWER', 'the newest block changed while the range was read', {
      height: range.to,
    });
  const isWhole = isNamed && range.from === range.to;
  const below = isWhole ? last.parentHash : await hashBelow(account, source, options, expected);
  const isChecked = everyBlock || reading.bloom || account.byHeight === undefined;
  const doubts = isChecked ? doubtsIn(reading, account) : new Map<number, never>();
  const byReceipts = await decideByReceipts<never>(account, doubts, async (height, reason) => {
    const header = await headerAt(account, source, height, options);
    reading.onDecidedByReceipts({ header, reason });
    return transfersByReceipts(reading, source, header, options);
  });
  const transfers = heightsOf(range).flatMap(
    (height) => byReceipts.get(height) ?? transfersAt(reading, account, height),
  );
  const hasAll = reading.native || everyBlock;
  const headers = hasAll ? [...account.headers.values()].map(plainHeader) : [plainHeader(last)];
  return { headers, ...(below === undefined ? {} : { below }), transfers, logs: logsIn(account) };
}
