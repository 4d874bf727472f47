import type { ExpectedTransfer, RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import type { BlockHash } from '@opentill/chain/block';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import { blockRequest, logsOfBlockRequest, logsRequest } from './block-requests.ts';
import type { BloomBits } from './bloom.ts';
import { bloomMayHold } from './bloom.ts';
import type { EvmClient } from './client.ts';
import type { EvmHeader, EvmLog } from './decode.ts';
import { decodeHeader, decodeLogs, plainHeader, transferOf } from './decode.ts';
import type { JudgedBlock } from './judge-by-receipts.ts';
import { transfersByReceipts } from './judge-by-receipts.ts';

/** What reading blocks needs to know and to tell. */
export interface BlockReading {
  readonly client: EvmClient;
  readonly tokens: ReadonlySet<string>;
  /** Bits of each token's address in a bloom filter, and of the Transfer topic. */
  readonly tokenBits: readonly BloomBits[];
  readonly transferBits: BloomBits;
  /** Whether a header's bloom speaks of its own block. */
  readonly bloom: boolean;
  readonly onJudged: (block: JudgedBlock) => void;
}

/** A seen read, or a verified one with what the seen pass recorded. */
export type ReadPurpose =
  { readonly pass: 'seen' } | { readonly pass: 'verified'; readonly expected: readonly ExpectedTransfer[] };

interface RawRead {
  readonly headers: readonly EvmHeader[];
  /** Undefined when even one block has more logs than the provider gives in an answer. */
  readonly logs: readonly EvmLog[] | undefined;
}

/** Reads headers that must exist and be linked. BLOCK_NOT_FOUND when the node answers null for one of them. */
export function linkedHeaders(raw: readonly unknown[], from: number): readonly EvmHeader[] {
  const headers = raw.map((block, place) => {
    if (block === null)
      throw readerError('BLOCK_NOT_FOUND', 'the node does not have the block', { height: from + place });
    return decodeHeader(block);
  });
  headers.forEach((header, place) => {
    const height = from + place;
    if (header.height !== height) {
      throw readerError('INCONSISTENT_ANSWER', 'the node answered another block', {
        height,
        answered: header.height,
      });
    }
    const parent = headers[place - 1];
    if (parent !== undefined && header.parentHash !== parent.hash) {
      throw readerError('INCONSISTENT_ANSWER', 'the blocks are not linked', { height, hash: header.hash });
    }
  });
  return headers;
}

/**
 * Reads a few blocks and their transfers, the last block once more behind the logs: when its hash changed, the logs
 * may be of either branch. Throws RPC_RANGE_TOO_LARGE for more than one block that the provider finds too many.
 */
export async function readBlocks(
  reading: BlockReading,
  from: number,
  to: number,
  purpose: ReadPurpose,
  options: ReadOptions,
): Promise<RangeRead> {
  const { headers, logs } = await (reading.bloom ? readByRange : readByHash)(reading, from, to, options);
  const byBlock = transfersByBlock(reading.tokens, headers, logs ?? []);
  const suspects = headers.flatMap((header): readonly JudgedBlock[] => {
    const reason =
      logs === undefined ? 'TOO_MANY_LOGS' : suspicion(reading, header, byBlock.get(header.hash), purpose);
    return reason === undefined ? [] : [{ header, reason }];
  });
  for (const suspect of suspects) {
    byBlock.set(suspect.header.hash, {
      logCount: 0,
      transfers: await transfersByReceipts(reading, suspect, options),
    });
  }
  return {
    headers: headers.map(plainHeader),
    transfers: headers.flatMap((header) => byBlock.get(header.hash)?.transfers ?? []),
  };
}

function heights(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from + 1 }, (_, place) => from + place);
}

async function readByRange(
  { client, tokens }: BlockReading,
  from: number,
  to: number,
  options: ReadOptions,
): Promise<RawRead> {
  const blocks = heights(from, to).map(blockRequest);
  try {
    const answers = await client.batch([...blocks, logsRequest(tokens, from, to), blockRequest(to)], options);
    return finished(
      answers.slice(0, blocks.length),
      answers.at(-1),
      from,
      decodeLogs(answers[blocks.length]),
    );
  } catch (error) {
    if (from !== to || !isReaderError(error, 'RPC_RANGE_TOO_LARGE')) throw error;
    const answers = await client.batch(blocks, options);
    return { headers: linkedHeaders(answers, from), logs: undefined };
  }
}

/** Where no bloom can contradict an empty answer, each block is asked for by hash: a node without it says so. */
async function readByHash(
  { client, tokens }: BlockReading,
  from: number,
  to: number,
  options: ReadOptions,
): Promise<RawRead> {
  const rawHeaders = await client.batch(heights(from, to).map(blockRequest), options);
  const headers = linkedHeaders(rawHeaders, from);
  try {
    const byHash = headers.map((header) => logsOfBlockRequest(tokens, header.hash));
    const answers = await client.batch([...byHash, blockRequest(to)], options);
    return finished(rawHeaders, answers.at(-1), from, answers.slice(0, -1).flatMap(decodeLogs));
  } catch (error) {
    if (from !== to || !isReaderError(error, 'RPC_RANGE_TOO_LARGE')) throw error;
    return { headers, logs: undefined };
  }
}

function finished(
  rawHeaders: readonly unknown[],
  lastAgain: unknown,
  from: number,
  logs: readonly EvmLog[],
): RawRead {
  const headers = linkedHeaders(rawHeaders, from);
  const [again] = linkedHeaders([lastAgain], from + headers.length - 1);
  if (again?.hash !== headers.at(-1)?.hash) {
    throw readerError('INCONSISTENT_ANSWER', 'the last block changed while the range was read', {
      height: again?.height,
    });
  }
  return { headers, logs };
}

interface BlockTransfers {
  /** Logs that the answer had for the block, also those that are no transfers. */
  readonly logCount: number;
  readonly transfers: readonly CandidateTransfer[];
}

/** Sorts logs into their blocks. Every log must be of one of the headers; the same log twice counts once. */
function transfersByBlock(
  tokens: ReadonlySet<string>,
  headers: readonly EvmHeader[],
  logs: readonly EvmLog[],
): Map<BlockHash, BlockTransfers> {
  const byBlock = new Map(
    headers.map((header) => [header.hash, { header, logs: new Map<number, EvmLog>() }]),
  );
  for (const log of logs) {
    const block = byBlock.get(log.blockHash);
    if (block === undefined || block.header.height !== log.blockHeight) {
      throw readerError('INCONSISTENT_ANSWER', 'a log is of a block that was not asked for', {
        blockHash: log.blockHash,
        height: log.blockHeight,
      });
    }
    const twin = block.logs.get(log.logIndex);
    if (twin !== undefined && !sameLog(twin, log)) {
      throw readerError('INCONSISTENT_ANSWER', 'two logs claim the same place', { ...log });
    }
    block.logs.set(log.logIndex, log);
  }
  return new Map(
    [...byBlock].map(([hash, block]) => {
      const sorted = [...block.logs.values()].sort((a, b) => a.logIndex - b.logIndex);
      const transfers = sorted.flatMap((log) => transferOf(log, tokens) ?? []);
      return [hash, { logCount: sorted.length, transfers }];
    }),
  );
}

/** Whether two logs of one block and place say the same. */
function sameLog(a: EvmLog, b: EvmLog): boolean {
  return (
    a.txHash === b.txHash &&
    a.address === b.address &&
    a.data === b.data &&
    a.topics.join() === b.topics.join()
  );
}

/** Why the logs of a block may not be all, or undefined. */
function suspicion(
  reading: BlockReading,
  header: EvmHeader,
  block: BlockTransfers | undefined,
  purpose: ReadPurpose,
): JudgedBlock['reason'] | undefined {
  const { logCount, transfers } = block ?? { logCount: 0, transfers: [] };
  if (logCount === 0 && reading.bloom) {
    const mayHoldToken = reading.tokenBits.some((bits) => bloomMayHold(header.logsBloom, bits));
    if (mayHoldToken && bloomMayHold(header.logsBloom, reading.transferBits)) return 'BLOOM_CONTRADICTS';
  }
  if (purpose.pass === 'seen') return undefined;
  if (logCount === 0 && !reading.bloom && header.transactionCount > 0) return 'EMPTY_WITHOUT_BLOOM';
  const expected = purpose.expected.filter((transfer) => transfer.blockHash === header.hash);
  return includesAll(transfers, expected) ? undefined : 'EXPECTED_MISSING';
}

/** Whether `found` has every expected transfer, as often as it is expected. */
function includesAll(found: readonly ExpectedTransfer[], expected: readonly ExpectedTransfer[]): boolean {
  const left = new Map<string, number>();
  const contents = (t: ExpectedTransfer): string => `${t.txHash} ${t.contract} ${t.to} ${t.amountBaseUnits}`;
  for (const transfer of found) left.set(contents(transfer), (left.get(contents(transfer)) ?? 0) + 1);
  return expected.every((transfer) => {
    const count = left.get(contents(transfer)) ?? 0;
    left.set(contents(transfer), count - 1);
    return count > 0;
  });
}
