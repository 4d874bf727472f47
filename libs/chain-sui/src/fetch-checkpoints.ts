import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { GatewayError } from '@opentill/domain/gateway-error';
import { CHECKPOINTS_PER_CALL } from './checkpoints-per-call.ts';
import type { SuiCheckpoint } from './decode-checkpoint.ts';
import {
  CHECKPOINT_MASK,
  checkpointOf,
  CONTENTS_MASK,
  decodeCheckpoint,
  decodeHeader,
} from './decode-checkpoint.ts';
import { lacksBalanceChanges } from './lacks-balance-changes.ts';
import { requireBalanceChanges } from './require-balance-changes.ts';
import { checkpointBytesIn, readCheckpointBytes } from './read-checkpoint-bytes.ts';
import { readTransactions } from './read-transactions.ts';
import type { BlockRange, Reading } from './reading.ts';
import type { SuiSource } from './sui-sources.ts';
import type { FetchMethod, FetchMethods } from './fetch-methods.ts';

const METHODS: readonly FetchMethod[] = ['list', 'get', 'contents'];
const METHOD_KEPT_MS = 60_000;
const AT_ONCE = 8;
/** A missing checkpoint this far below the newest was pruned; nodes behind one URL are closer together. */
const PRUNED_BELOW_HEAD = 100;

export function createFetchMethods(nowMs: () => number): FetchMethods {
  const known = new Map<SuiSource, { readonly method: FetchMethod; readonly untilMs: number }>();
  return {
    of(source) {
      const found = known.get(source);
      return found === undefined || found.untilMs <= nowMs() ? 'list' : found.method;
    },
    markUnsupported(source, method) {
      const next = METHODS[METHODS.indexOf(method) + 1];
      if (next === undefined) known.delete(source);
      else known.set(source, { method: next, untilMs: nowMs() + METHOD_KEPT_MS });
      return next !== undefined;
    },
  };
}

export async function fetchCheckpoints(
  reading: Reading,
  source: SuiSource,
  range: BlockRange,
  options: ReadOptions,
): Promise<readonly SuiCheckpoint[]> {
  for (;;) {
    const known = reading.fetchMethods.of(source);
    const method = known === 'list' && range.from === range.to ? 'get' : known;
    try {
      const checkpoints = await FETCHING[method](reading, source, range, options);
      await requireBalanceChanges(source, checkpoints, reading.shownChanges, options, (height) =>
        lookBack(reading, source, method, height, options),
      );
      return checkpoints;
    } catch (error) {
      if (isReaderError(error, 'BLOCK_NOT_FOUND'))
        throw await whyNotFound(reading, source, range, error, options);
      if (!isNotOffered(error) || !reading.fetchMethods.markUnsupported(source, method)) throw error;
    }
  }
}

type Fetch = (
  reading: Reading,
  source: SuiSource,
  range: BlockRange,
  options: ReadOptions,
) => Promise<readonly SuiCheckpoint[]>;

const FETCHING: Readonly<Record<FetchMethod, Fetch>> = {
  list: fetchList,
  get: (reading, source, range, options) =>
    mapHeights(range, options, (height, own) => fetchOne(reading, source, height, own)),
  contents: (reading, source, range, options) =>
    mapHeights(range, options, (height, own) => fetchByContents(reading, source, height, own)),
};

function isNotOffered(error: unknown): boolean {
  return isReaderError(error, 'RPC_METHOD_MISSING') || lacksBalanceChanges(error);
}

async function fetchList(
  { coins, decodeOnce }: Reading,
  source: SuiSource,
  { from, to }: BlockRange,
  options: ReadOptions,
): Promise<readonly SuiCheckpoint[]> {
  const found: SuiCheckpoint[] = [];
  const wanted = to - from + 1;
  while (found.length < wanted) {
    const before = found.length;
    await source.askMuch(async ({ listCheckpointBytes }, call) => {
      const request = {
        readMask: CHECKPOINT_MASK,
        startCheckpoint: BigInt(from + before),
        endCheckpoint: BigInt(to + 1),
        options: { limit: CHECKPOINTS_PER_CALL },
      };
      found.length = before;
      let fault: Error | undefined;
      // The decoded checkpoint is much smaller than the message.
      await listCheckpointBytes(request, call, (message) => {
        if (fault !== undefined) return;
        try {
          const bytes = checkpointBytesIn(message);
          if (bytes === undefined) return;
          const height = from + found.length;
          found.push(
            decodeOnce(height, bytes, (own) => decodeCheckpoint(readCheckpointBytes(own), coins, height)),
          );
        } catch (error) {
          fault = error instanceof Error ? error : new TypeError('not an error', { cause: error });
        }
      });
      if (fault !== undefined) throw fault;
    }, options);
    if (found.length === before)
      throw readerError('BLOCK_NOT_FOUND', 'the node does not have these checkpoints', {
        endpoint: source.label,
        height: from + before,
      });
  }
  return found;
}

async function fetchOne(
  { coins }: Reading,
  source: SuiSource,
  height: number,
  options: ReadOptions,
): Promise<SuiCheckpoint> {
  const checkpointId = { oneofKind: 'sequenceNumber', sequenceNumber: BigInt(height) } as const;
  return source.ask(async ({ ledger }, call) => {
    const { response } = await ledger.getCheckpoint({ checkpointId, readMask: CHECKPOINT_MASK }, call);
    return decodeCheckpoint(response.checkpoint, coins, height);
  }, options);
}

async function fetchByContents(
  { coins }: Reading,
  source: SuiSource,
  height: number,
  options: ReadOptions,
): Promise<SuiCheckpoint> {
  const checkpointId = { oneofKind: 'sequenceNumber', sequenceNumber: BigInt(height) } as const;
  const { response } = await source.ask(
    ({ ledger }, call) => ledger.getCheckpoint({ checkpointId, readMask: CONTENTS_MASK }, call),
    options,
  );
  const header = decodeHeader(response.checkpoint, height);
  const digests = (response.checkpoint?.contents?.transactions ?? []).map(
    ({ transaction }) => transaction ?? '',
  );
  const executed = await readTransactions(source, digests, options);
  const whole = executed.map((transaction, place) => {
    if (transaction === undefined || transaction.digest !== digests[place])
      throw readerError('INCONSISTENT_ANSWER', 'the node lacks a transaction of the checkpoint', { height });
    return transaction;
  });
  return checkpointOf(header, response.checkpoint ?? {}, whole, coins);
}

/** Each call continues below the previous one, so a stretch without changes of any length is passed. */
async function lookBack(
  reading: Reading,
  source: SuiSource,
  method: FetchMethod,
  height: number,
  options: ReadOptions,
): Promise<readonly SuiCheckpoint[]> {
  const before = reading.lookedBack.get(source);
  const end = before?.height === height ? before.downTo : height;
  const downTo = Math.max(0, end - (method === 'list' ? reading.perCall.now() : AT_ONCE));
  reading.lookedBack.delete(source);
  if (end === 0) return [];
  try {
    const older = await FETCHING[method](reading, source, { from: downTo, to: end - 1 }, options);
    reading.lookedBack.set(source, { height, downTo });
    return older;
  } catch (error) {
    if (isReaderError(error, 'BLOCK_NOT_FOUND')) return [];
    throw error;
  }
}

export function isDiscarded(error: unknown): boolean {
  return isReaderError(error, 'BLOCK_NOT_FOUND') && error.context['lowest'] !== undefined;
}

/** The given error if the checkpoint does not exist yet; another one if the node has pruned it. */
async function whyNotFound(
  reading: Reading,
  source: SuiSource,
  { from }: BlockRange,
  error: GatewayError,
  options: ReadOptions,
): Promise<unknown> {
  const newest = reading.tailOf(source).newest()?.header.height;
  if (newest !== undefined && from > newest - PRUNED_BELOW_HEAD) return error;
  const { response } = await source.ask(({ ledger }, call) => ledger.getServiceInfo({}, call), options);
  const lowest = Number(response.lowestAvailableCheckpoint ?? 0n);
  if (lowest <= from) return error;
  return readerError(
    'BLOCK_NOT_FOUND',
    `the node has pruned checkpoints below ${lowest}. Add a node that keeps more, or an archive.`,
    { endpoint: source.label, height: from, lowest },
    error,
  );
}

async function mapHeights<T>(
  { from, to }: BlockRange,
  options: ReadOptions,
  work: (height: number, options: ReadOptions) => Promise<T>,
): Promise<readonly T[]> {
  const rest = new AbortController();
  const { signal } = options;
  const both = signal === undefined ? rest.signal : AbortSignal.any([signal, rest.signal]);
  const answers: T[] = [];
  for (let at = from; at <= to; at += AT_ONCE) {
    const heights = Array.from({ length: Math.min(AT_ONCE, to - at + 1) }, (_, place) => at + place);
    const some = heights.map((height) => work(height, { signal: both }));
    try {
      answers.push(...(await Promise.all(some)));
    } catch (error) {
      rest.abort();
      await Promise.allSettled(some);
      throw error;
    }
  }
  return answers;
}
