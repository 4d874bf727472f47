import { readerError } from '@opentill/chain/reader-error';
import { transfersByBlock, type TransfersByBlock } from './block-transfers.ts';
import type { EvmHeader } from './decode.ts';
import { readLogBytes } from './read-log-bytes.ts';
import type { RawAnswer } from './rpc-call.ts';

export interface LogsRead {
  /** Results before the logs, then the single one after them. */
  readonly others: readonly unknown[];
  byBlock(): TransfersByBlock;
}

export function readLogAnswer(
  tokens: ReadonlySet<string>,
  headers: readonly EvmHeader[],
  answer: RawAnswer,
  before: number,
): LogsRead {
  const quick = answer.resultsWithout && readLogBytes(tokens, headers, answer.body);
  const rest = quick && answer.resultsWithout?.(quick.lists);
  // The lists that were read must be the logs, and all of them.
  if (quick !== undefined && rest?.slice(before, -1).every(isEmptyList) === true)
    return { others: othersIn(rest, before), byBlock: () => quick.byBlock };
  return logsReadIn(tokens, headers, answer.results(), before);
}

export function logsReadIn(
  tokens: ReadonlySet<string>,
  headers: readonly EvmHeader[],
  results: readonly unknown[],
  before = 0,
): LogsRead {
  return {
    others: othersIn(results, before),
    byBlock: () => transfersByBlock(tokens, headers, logsIn(results.slice(before, -1))),
  };
}

const isEmptyList = (result: unknown): boolean => Array.isArray(result) && result.length === 0;

function othersIn(results: readonly unknown[], before: number): readonly unknown[] {
  return [...results.slice(0, before), ...results.slice(-1)];
}

function logsIn(lists: readonly unknown[]): readonly unknown[] {
  const [first, ...others] = lists.map((logs) => {
    if (Array.isArray(logs)) return logs as readonly unknown[];
    throw readerError('INCONSISTENT_ANSWER', 'the logs are not a list');
  });
  return others.length === 0 ? (first ?? []) : [...(first ?? []), ...others.flat()];
}
