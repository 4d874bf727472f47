import type { ReadOptions } from '@opentill/chain/chain-reader';
import { GatewayError } from '@opentill/domain/gateway-error';
import { standStill, type ChainState } from './chain-state.ts';
import { isolateFailure } from './isolate-failure.ts';
import { createReadingLimit, type ReadingLimit } from './read-ahead.ts';
import { readSegmentsAhead, segmentBlocks, splitRange, type SegmentRead } from './read-segment.ts';
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

/** Segments read at once, fewer where blocks are full. They are one commit; while they are read a new head waits. */
const SEGMENTS_PER_PART = 4;
const LOOKUP_INTERVAL_MS = 5_000;
/** Another replica has continued with the chain: not the rescan's failure. */
const TAKEN_OVER: ReadonlySet<string> = new Set(['LEASE_LOST', 'CURSOR_MOVED' satisfies ScanErrorCode]);

/**
 * The rescans of one chain, one part after another. Looks for requests every few seconds. The row of a request says how far it got, in the transaction that records what was found.
 * So the holder of the chain continues there, also after a crash.
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
    /** Looks a request under way up anew: another replica may have continued or answered it. */
    forget,
    /** Whether a request is under way, and the last part did not just fail. */
    isDue: () => request !== undefined && isolation.isDue(),
    /** Yields the next part, if a rescan is asked for. A failure holds back only the rescan; the cursor stays. */
    async *run(before: ChainState, options: ReadOptions): Changes<ChainState> {
      const part = await isolation.run(options, () => nextPart(before, options));
      if (part === undefined) return before;
      try {
        const state = yield part;
        if (part.rescan.isDone || request === undefined) forget();
        else request = { ...request, fromHeight: part.rescan.nextHeight };
        return state;
      } catch (error) {
        const isOthers = error instanceof GatewayError && TAKEN_OVER.has(error.code);
        if (options.signal?.aborted === true || isOthers) throw error;
        forget(); // it may have been committed all the same
        isolation.failed(error);
        return before; // which a rescan never changes
      }
    },
  };
}

interface RescanPart extends ScanChange {
  readonly rescan: RescanProgress;
}

/**
 * Reads the next part. Only blocks below the verified cursor are read: those above are about to be read anyway. The part records what
 * is missing and takes nothing back. Of a transaction that is not found, or found otherwise, nothing is written: an operator decides.
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
  const segments = await readSegments(scanning, state, { from: fromHeight, to }, options);
  checkLinked(segments);
  const read = segments.flatMap((segment) => segment.matched);
  const found = new Set(read.map(identityOf));
  const missing = segments
    .flatMap((segment) => segment.live)
    .filter((transfer) => !found.has(identityOf(transfer)));
  if (missing.length > 0) observe.rescanContradicts(network.chain, missing);
  // Another transfer of such a transaction may be the same movement under another position: credited twice.
  const doubted = new Set(missing.map(({ txHash }) => txHash));
  return {
    step: standStill(state),
    matched: read.filter(({ txHash }) => !doubted.has(txHash)),
    matchedState: 'VERIFIED',
    orphaned: [],
    rescan: { requestId, nextHeight: Math.max(to + 1, fromHeight), isDone: to >= last },
  };
}

/** All that must be as it is recorded. */
function identityOf(transfer: LiveTransfer | MatchedTransfer): string {
  const { txHash, position, blockHash, contract, to, amountBaseUnits } = transfer;
  return [txHash, position, blockHash, contract, to, amountBaseUnits].join(' ');
}

/** Each segment was read by itself: those of two branches would give a transaction twice. Throws BRANCHES_DIFFER. */
function checkLinked(segments: readonly SegmentRead[]): void {
  segments.forEach(({ headers: [first] }, place) => {
    const below = segments[place - 1]?.headers.at(-1);
    if (first === undefined || below === undefined || first.parentHash === below.hash) return;
    const context = { height: first.height, parent: first.parentHash, below: below.hash };
    throw scanError('BRANCHES_DIFFER', 'the parts of a rescan are of different branches', context);
  });
}

async function readSegments(
  scanning: Scanning,
  state: ChainState,
  range: { readonly from: number; readonly to: number },
  options: ReadOptions & { readonly limit: ReadingLimit },
): Promise<readonly SegmentRead[]> {
  const ranges = splitRange({ kind: 'verified', ...range }, () => segmentBlocks(scanning));
  const reads = readSegmentsAhead(scanning, state, ranges, { ...options, most: SEGMENTS_PER_PART });
  try {
    const segments: SegmentRead[] = [];
    for (let read = await reads.next(); read !== undefined; read = await reads.next()) segments.push(read);
    return segments;
  } finally {
    await reads.stop();
  }
}
