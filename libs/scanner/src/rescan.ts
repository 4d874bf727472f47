import type { ReadOptions } from '@opentill/chain/chain-reader';
import { GatewayError } from '@opentill/domain/gateway-error';
import { blockAt, unchangedStep, type ChainState } from './chain-state.ts';
import { isolateFailure } from './isolate-failure.ts';
import { createReadingLimit, type ReadingLimit } from './read-ahead.ts';
import { readBelowVerified } from './read-below-verified.ts';
import {
  checkStored,
  readSegmentsAhead,
  segmentBlocks,
  splitRange,
  type SegmentRead,
} from './read-segment.ts';
import type {
  Changes,
  LiveTransfer,
  MatchedTransfer,
  RescanProgress,
  RescanRequest,
  ScanChange,
} from './scan-change.ts';
import { scanError, type ScanErrorCode } from './scan-error.ts';
import type { Scanning } from './scanning.ts';

/** Read at once for one commit. A new head waits for them. */
const SEGMENTS_PER_PART = 4;
const LOOKUP_INTERVAL_MS = 5_000;
/** Another replica continued the chain: no failure of the rescan. */
const TAKEN_OVER: ReadonlySet<string> = new Set(['LEASE_LOST', 'CURSOR_MOVED' satisfies ScanErrorCode]);

/**
 * Each commit stores the progress in the request's row, so the next lease holder continues there, also after a crash.
 */
export function createRescans(scanning: Scanning) {
  const { network, store, clock } = scanning;
  const isolation = isolateFailure(scanning, 'rescan');
  const limit = createReadingLimit();
  let request: RescanRequest | undefined;
  let lookupAtMs = 0;
  const forget = (): void => {
    request = undefined;
    lookupAtMs = 0;
  };

  async function nextPart(state: ChainState, options: ReadOptions): Promise<RescanPart | undefined> {
    const nowMs = clock.now().getTime();
    if (request === undefined && nowMs >= lookupAtMs) {
      lookupAtMs = nowMs + LOOKUP_INTERVAL_MS;
      request = await store.nextRescan(network.chain);
    }
    return request && planPart(scanning, state, request, { ...options, limit });
  }

  return {
    /** Another replica may have continued or finished the cached request. */
    forget,
    isDue: () => request !== undefined && isolation.isDue(),
    /** A failure delays only the rescan; the cursor does not move. */
    async *run(before: ChainState, options: ReadOptions): Changes<ChainState> {
      const part = await isolation.run(options, () => nextPart(before, options));
      if (part === undefined) return before;
      try {
        const state = yield part;
        if (part.rescan.isDone || request === undefined) forget();
        else request = { ...request, fromHeight: part.rescan.nextHeight };
        return state;
      } catch (error) {
        const isTakenOver = error instanceof GatewayError && TAKEN_OVER.has(error.code);
        if (options.signal?.aborted === true || isTakenOver) throw error;
        forget(); // The commit may have succeeded all the same.
        isolation.failed(error);
        return before; // a rescan never changes the state
      }
    },
  };
}

interface RescanPart extends ScanChange {
  readonly rescan: RescanProgress;
}

/**
 * Reads only blocks below the verified cursor. Adds missing transfers and orphans none. If a transaction is missing or
 * differs from the record, none of its transfers is written: an operator decides.
 */
async function planPart(
  scanning: Scanning,
  state: ChainState,
  request: RescanRequest,
  options: ReadOptions & { readonly limit: ReadingLimit },
): Promise<RescanPart> {
  const { network, observe } = scanning;
  const { requestId, fromHeight } = request;
  const last = Math.min(request.toHeight, state.verifiedHeight);
  const to = Math.min(last, fromHeight + SEGMENTS_PER_PART * segmentBlocks(scanning) - 1);
  const oldestHeight = state.blocks[0]?.height ?? 0;
  const read = (): ReturnType<typeof readSegments> =>
    readSegments(scanning, { from: fromHeight, to }, options);
  const segments = await (to < oldestHeight ? read() : readBelowVerified(scanning, state, options, read));
  checkLinked(segments);
  const matched = segments.flatMap((segment) => segment.matched);
  const found = new Set(matched.map(identityOf));
  const missing = segments
    .flatMap((segment) => segment.live)
    .filter((transfer) => !found.has(identityOf(transfer)));
  if (missing.length > 0) observe.rescanContradicts(network.chain, missing);
  // A differing transfer of the same transaction may be the same movement at another position: it would be credited
  // twice.
  const doubted = new Set(missing.map(({ txHash }) => txHash));
  // The blocks of added transfers, so that a reorganisation takes them back.
  const paid = new Set(matched.map(({ blockHash }) => blockHash));
  const headers = segments.flatMap((segment) => segment.headers);
  const verified = state.blocks.filter(({ height }) => height <= state.verifiedHeight);
  checkStored({ blocks: verified }, headers);
  const newBlocks = headers.filter(
    ({ height, hash }) => height >= oldestHeight && paid.has(hash) && blockAt(state, height) === undefined,
  );
  return {
    step: { ...unchangedStep(state), newBlocks },
    matched: matched.filter(({ txHash }) => !doubted.has(txHash)),
    matchedState: 'VERIFIED',
    orphaned: [],
    rescan: { requestId, nextHeight: Math.max(to + 1, fromHeight), isDone: to >= last },
  };
}

function identityOf(transfer: LiveTransfer | MatchedTransfer): string {
  const { txHash, position, blockHash, contract, to, amountBaseUnits } = transfer;
  return [txHash, position, blockHash, contract, to, amountBaseUnits].join(' ');
}

/** Segments of two branches could contain a transaction twice. Throws BRANCHES_DIFFER unless they are linked. */
function checkLinked(segments: readonly SegmentRead[]): void {
  segments.forEach(({ from, below: parent }, place) => {
    const below = segments[place - 1]?.headers.at(-1);
    if (below === undefined || parent === below.hash) return;
    const context = { height: from, parent, below: below.hash };
    throw scanError('BRANCHES_DIFFER', 'the segments of a rescan are from different branches', context);
  });
}

async function readSegments(
  scanning: Scanning,
  range: { readonly from: number; readonly to: number },
  options: ReadOptions & { readonly limit: ReadingLimit },
): Promise<readonly SegmentRead[]> {
  const ranges = splitRange({ kind: 'verified', ...range }, () => segmentBlocks(scanning));
  const reads = readSegmentsAhead(scanning, ranges, { ...options, most: SEGMENTS_PER_PART });
  try {
    const segments: SegmentRead[] = [];
    for (let read = await reads.next(); read !== undefined; read = await reads.next()) segments.push(read);
    return segments;
  } finally {
    await reads.stop();
  }
}
