import type { BlockHash } from '@opentill/chain/block';
import { readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import type { EvmLog } from './decode.ts';
import { decodeLogs, transferOf } from './decode.ts';
import type { BlockRange } from './reading.ts';

export interface BlockTransfers {
  readonly hash: BlockHash;
  /** All logs of the answer, also those that are no transfers. */
  readonly logCount: number;
  /** Ascending by index, without duplicates. Empty where the block has logs of the tokens, but no transfer. */
  readonly transfers: readonly CandidateTransfer[];
}

/** Blocks of which the answer has at least one log, ascending. */
export type TransfersByHeight = ReadonlyMap<number, BlockTransfers>;

/**
 * Throws INCONSISTENT_ANSWER for a malformed log, a log outside the range, logs of two blocks at one height, and two
 * different logs at one position.
 */
export function transfersByHeight(
  tokens: ReadonlySet<string>,
  { from, to }: BlockRange,
  rawLogs: readonly unknown[],
): TransfersByHeight {
  const blocks = new Map<number, { readonly hash: BlockHash; readonly logs: Map<number, EvmLog> }>();
  for (const log of decodeLogs(rawLogs)) {
    const { blockHeight: height, blockHash } = log;
    const block = blocks.get(height) ?? { hash: blockHash, logs: new Map<number, EvmLog>() };
    if (height < from || height > to || block.hash !== blockHash)
      throw readerError('INCONSISTENT_ANSWER', 'a log belongs to a block that was not requested', {
        blockHash,
        height,
      });
    const duplicate = block.logs.get(log.logIndex);
    if (duplicate !== undefined && !sameLog(duplicate, log))
      throw readerError('INCONSISTENT_ANSWER', 'two different logs have the same index', { ...log });
    block.logs.set(log.logIndex, log);
    blocks.set(height, block);
  }
  return new Map(
    [...blocks]
      .toSorted(([a], [b]) => a - b)
      .map(([height, { hash, logs }]) => {
        const sorted = [...logs.values()].toSorted((a, b) => a.logIndex - b.logIndex);
        const transfers = sorted.flatMap((log) => transferOf(log, tokens) ?? []);
        return [height, { hash, logCount: sorted.length, transfers }];
      }),
  );
}

function sameLog(a: EvmLog, b: EvmLog): boolean {
  return (
    a.txHash === b.txHash &&
    a.address === b.address &&
    a.data === b.data &&
    a.topics.join() === b.topics.join()
  );
}

/** Ignores the number of logs that are no transfers. */
export function sameTransfers(a: readonly CandidateTransfer[], b: readonly CandidateTransfer[]): boolean {
  return (
    a.length === b.length &&
    a.every((one, place) => {
      const other = b[place];
      return (
        other !== undefined &&
        one.indexInBlock === other.indexInBlock &&
        one.amountBaseUnits === other.amountBaseUnits &&
        one.txHash === other.txHash &&
        one.blockHash === other.blockHash &&
        one.contract === other.contract &&
        one.from === other.from &&
        one.to === other.to
      );
    })
  );
}
