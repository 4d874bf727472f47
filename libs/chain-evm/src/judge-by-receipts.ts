import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import { blockReceiptsRequest } from './block-requests.ts';
import { bloomIsExplainedBy } from './bloom.ts';
import type { EvmClient } from './client.ts';
import type { EvmHeader, EvmReceipt } from './decode.ts';
import { decodeReceipt, transferOf } from './decode.ts';

/** A block whose logs were not believed. */
export interface JudgedBlock {
  readonly header: EvmHeader;
  readonly reason:
    /** No log of our tokens, though the header's bloom speaks of some. */
    | 'BLOOM_CONTRADICTS'
    /** No log in a block with transactions, on a network whose blooms say nothing. */
    | 'EMPTY_WITHOUT_BLOOM'
    /** A transfer that was seen in this very block is not among the logs. */
    | 'EXPECTED_MISSING'
    /** More logs in this one block than the provider puts into an answer. */
    | 'TOO_MANY_LOGS'
    /** A transaction's receipt contradicts the logs. */
    | 'RECEIPT_CONTRADICTS';
}

export interface Judging {
  readonly client: EvmClient;
  readonly tokens: ReadonlySet<string>;
  /** Whether the header's bloom speaks of its own block, so that the receipts can be held against it. */
  readonly bloom: boolean;
  readonly onJudged: (block: JudgedBlock) => void;
}

/** All transfers of a block as the receipts of its transactions state them. */
export async function transfersByReceipts(
  judging: Judging,
  block: JudgedBlock,
  options: ReadOptions,
): Promise<readonly CandidateTransfer[]> {
  const receipts = await readBlockReceipts(judging, block, options);
  return receipts.flatMap((receipt) => receipt.logs.flatMap((log) => transferOf(log, judging.tokens) ?? []));
}

/**
 * The receipts of a block, checked to be whole: one for each transaction of the header, log indices without a gap,
 * and, where the bloom can be trusted, no bit of it left unexplained.
 */
export async function readBlockReceipts(
  { client, bloom, onJudged }: Judging,
  block: JudgedBlock,
  options: ReadOptions,
): Promise<readonly EvmReceipt[]> {
  const { header } = block;
  onJudged(block);
  const [raw] = await client.batch([blockReceiptsRequest(header.hash)], options);
  if (raw === null)
    throw readerError('BLOCK_NOT_FOUND', 'the node does not have the block', { hash: header.hash });
  const inconsistent = (why: string): never => {
    throw readerError('INCONSISTENT_ANSWER', `the receipts of the block are not whole: ${why}`, {
      height: header.height,
      hash: header.hash,
    });
  };
  if (!Array.isArray(raw)) return inconsistent('not a list');
  const receipts = raw.map(decodeReceipt);
  if (receipts.some((receipt) => receipt.blockHash !== header.hash)) inconsistent('another block');
  // Polygon's state-sync transaction may be listed by one method and not by the other; it is never the missing one
  // that matters, so more receipts than transactions are no objection.
  if (receipts.length < header.transactionCount) inconsistent('receipts are missing');
  const logs = receipts.flatMap((receipt) => receipt.logs);
  if (logs.some((log, place) => log.logIndex !== (logs[0]?.logIndex ?? 0) + place))
    inconsistent('a gap between logs');
  if (bloom && !bloomIsExplainedBy(header.logsBloom, logs)) inconsistent('the bloom knows more logs');
  return receipts;
}
