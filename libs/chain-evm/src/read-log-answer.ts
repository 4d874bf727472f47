import { readerError } from '@opentill/chain/reader-error';
import { transfersByHeight, type TransfersByHeight } from './block-transfers.ts';
import { readLogBytes } from './read-log-bytes.ts';
import type { BlockRange } from './reading.ts';
import type { RawAnswer } from './rpc-call.ts';

export interface LogsRead {
  readonly byHeight: TransfersByHeight;
  /** The results after the logs. */
  readonly others: readonly unknown[];
}

/** Reads an answer whose first result are the logs of a range. */
export function readLogAnswer(tokens: ReadonlySet<string>, range: BlockRange, answer: RawAnswer): LogsRead {
  const quick = answer.resultsWithout && readLogBytes(tokens, range, answer.body);
  const rest = quick && answer.resultsWithout?.(quick.lists);
  // The list that was read must be the logs, and all of them.
  if (quick !== undefined && isEmptyList(rest?.[0]))
    return { byHeight: quick.byHeight, others: rest?.slice(1) ?? [] };
  const [logs, ...others] = answer.results();
  if (!Array.isArray(logs)) throw readerError('INCONSISTENT_ANSWER', 'the logs are not a list');
  return { byHeight: transfersByHeight(tokens, range, logs as readonly unknown[]), others };
}

const isEmptyList = (result: unknown): boolean => Array.isArray(result) && result.length === 0;
