import { GrpcTypes } from '@mysten/sui/grpc';
import { refuse } from '../chain/refusal.ts';
import type { TransactionPlace, TransactionRecord } from '../chain/transaction.ts';
import { readMask } from './field-mask.ts';
import { stream, type Handlers } from './methods.ts';
import { checkpointAt, headOf, lowestOf, type Node } from './node.ts';
import {
  CHECKPOINT_DEFAULTS,
  showCheckpoint,
  showExecuted,
  TRANSACTION_DEFAULTS,
} from './show-checkpoint.ts';
import { readFilter } from './transaction-filter.ts';

const { Ordering, QueryEndReason: EndReason } = GrpcTypes;

/** Default and maximum page sizes (LedgerHistoryConfig). */
const CHECKPOINTS_OF_PAGE = [10, 100] as const;
const TRANSACTIONS_OF_PAGE = [50, 500] as const;

export const LEDGER_HISTORY_HANDLERS: Handlers = {
  ListCheckpoints: stream<GrpcTypes.ListCheckpointsRequest, GrpcTypes.ListCheckpointsResponse>(
    async function* list(node, request, { method }) {
      offerHistory(node, method);
      const mask = readMask(GrpcTypes.Checkpoint, request.readMask, CHECKPOINT_DEFAULTS);
      const matches = readFilter(request.filter);
      const range = rangeOf(node, request, method);
      const most = pageOf(request.options, CHECKPOINTS_OF_PAGE);
      let sent = 0;
      for (const number of range.numbers) {
        const checkpoint = checkpointAt(node, number, method);
        if (matches !== undefined && !checkpoint.transactions.some(matches)) continue;
        sent += 1;
        const place = { checkpoint: number, sequence: checkpoint.totalTransactions };
        const frame: GrpcTypes.ListCheckpointsResponse = {
          checkpoint: showCheckpoint(node, checkpoint, mask, method),
          watermark: { cursor: writeCursor(place), checkpoint: BigInt(number) },
        };
        if (sent === most) {
          yield { ...frame, end: { reason: EndReason.ITEM_LIMIT } };
          return;
        }
        yield frame;
      }
      yield { watermark: range.watermark, end: { reason: range.endReason } };
    },
  ),
  ListTransactions: stream<GrpcTypes.ListTransactionsRequest, GrpcTypes.ListTransactionsResponse>(
    async function* list(node, request, { method }) {
      offerHistory(node, method);
      const mask = readMask(GrpcTypes.ExecutedTransaction, request.readMask, TRANSACTION_DEFAULTS);
      const matches = readFilter(request.filter);
      const range = rangeOf(node, request, method);
      const most = pageOf(request.options, TRANSACTIONS_OF_PAGE);
      let sent = 0;
      for (const number of range.numbers) {
        const { transactions } = checkpointAt(node, number, method);
        for (const record of range.descending ? transactions.toReversed() : transactions) {
          const { place } = record;
          if (place === undefined || !isWithin(place, range) || matches?.(record) === false) continue;
          sent += 1;
          const frame = transactionFrame(node, record, place, mask, method);
          if (sent === most) {
            yield { ...frame, end: { reason: EndReason.ITEM_LIMIT } };
            return;
          }
          yield frame;
        }
      }
      yield { watermark: range.watermark, end: { reason: range.endReason } };
    },
  ),
};

function transactionFrame(
  node: Node,
  record: TransactionRecord,
  place: TransactionPlace,
  mask: ReturnType<typeof readMask>,
  method: string,
): GrpcTypes.ListTransactionsResponse {
  const covered = place.checkpoint === 0 ? {} : { checkpoint: BigInt(place.checkpoint - 1) };
  return {
    transaction: showExecuted(node, record, mask, method),
    watermark: { cursor: writeCursor(place), ...covered },
  };
}

function offerHistory({ faults }: Node, method: string): void {
  if (faults.holding('no-history', method).length > 0) {
    refuse('UNIMPLEMENTED', 'ledger history indexing is disabled');
  }
}

type Place = Pick<TransactionPlace, 'checkpoint' | 'sequence'>;

interface Range {
  readonly numbers: readonly number[];
  readonly descending: boolean;
  readonly after: Place | undefined;
  readonly before: Place | undefined;
  readonly watermark: GrpcTypes.Watermark;
  readonly endReason: GrpcTypes.QueryEndReason;
}

interface HistoryRequest {
  readonly startCheckpoint?: bigint;
  /** Exclusive. */
  readonly endCheckpoint?: bigint;
  readonly options?: GrpcTypes.QueryOptions;
}

function rangeOf(node: Node, request: HistoryRequest, method: string): Range {
  const { options = {}, startCheckpoint, endCheckpoint } = request;
  const lowest = lowestOf(node);
  const tip = headOf(node, method) + 1;
  const after = readCursor(options.after);
  const before = readCursor(options.before);
  const from = startCheckpoint === undefined ? lowest : Number(startCheckpoint);
  if (from < lowest) {
    refuse('OUT_OF_RANGE', `start_checkpoint ${from} is below the lowest available checkpoint ${lowest}`);
  }
  const bound = endCheckpoint === undefined ? tip : Number(endCheckpoint);
  const end = Math.min(bound, tip, before === undefined ? tip : before.checkpoint + 1);
  const start = Math.max(from, after?.checkpoint ?? 0);
  const numbers = Array.from({ length: Math.max(0, end - start) }, (_, index) => start + index);
  const descending = options.ordering === Ordering.DESCENDING;
  const isBound = endCheckpoint !== undefined && bound <= tip;
  const last = node.chain.checkpoints.get(end - 1);
  return {
    numbers: descending ? numbers.toReversed() : numbers,
    descending,
    after,
    before,
    watermark:
      last === undefined
        ? {}
        : {
            cursor: writeCursor({ checkpoint: last.number, sequence: last.totalTransactions }),
            checkpoint: BigInt(last.number),
          },
    endReason:
      before !== undefined
        ? EndReason.CURSOR_BOUND
        : isBound
          ? EndReason.CHECKPOINT_BOUND
          : EndReason.LEDGER_TIP,
  };
}

function isWithin({ sequence }: Place, { after, before }: Range): boolean {
  return (
    (after === undefined || sequence > after.sequence) && (before === undefined || sequence < before.sequence)
  );
}

function pageOf(
  options: GrpcTypes.QueryOptions | undefined,
  [usual, most]: readonly [number, number],
): number {
  const limit = options?.limit ?? 0;
  return limit === 0 ? usual : Math.min(limit, most);
}

const CURSOR_BYTES = 16;

function writeCursor({ checkpoint, sequence }: Place): Uint8Array {
  const cursor = Buffer.alloc(CURSOR_BYTES);
  cursor.writeBigUInt64BE(BigInt(checkpoint), 0);
  cursor.writeBigUInt64BE(BigInt(sequence), 8);
  return new Uint8Array(cursor);
}

function readCursor(bytes: Uint8Array | undefined): Place | undefined {
  if (bytes === undefined) return undefined;
  if (bytes.length !== CURSOR_BYTES) return refuse('INVALID_ARGUMENT', 'invalid cursor');
  const cursor = Buffer.from(bytes);
  return { checkpoint: Number(cursor.readBigUInt64BE(0)), sequence: Number(cursor.readBigUInt64BE(8)) };
}
