import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { Clock } from '@opentill/runtime/clock';
import type { ChainState } from './chain-state.ts';
import { createPartsAhead, type PartsAhead } from './parts-ahead.ts';
import { createReadAhead } from './read-ahead.ts';
import { segmentBlocks, splitRange } from './read-segment.ts';
import {
  type LiveTransfer,
  type MatchedTransfer,
  type RescanRequest,
  type ScanChange,
} from './scan-change.ts';
import { scanError } from './scan-error.ts';
import type { Scanning } from './scanning.ts';
import { readAnew, standStill } from './verified-pass.ts';

/** Ranges read at once, fewer where blocks are full. Together they are one commit, and as long as they take a new head waits. */
const RANGES_PER_PART = 4;

type Part = Awaited<ReturnType<typeof readAnew>>;

/**
 * Reads the next part of a rescan. Only blocks below the verified cursor are read: the ones above it are about to be
 * read anew anyway. It records what is missing and takes nothing back: what it does not find, or
 * finds otherwise, is an operator's case, and of such a transaction nothing is written.
 */
async function planRescan(
  scanning: Scanning,
  state: ChainState,
  request: RescanRequest,
  { ahead, ...options }: ReadOptions & { readonly ahead: PartsAhead },
): Promise<ScanChange> {
  const { network, observe } = scanning;
  const last = Math.min(request.toHeight, state.verifiedHeight);
  const blocks = segmentBlocks(scanning);
  const to = Math.min(last, request.fromHeight + RANGES_PER_PART * blocks - 1);
  const parts = await readRanges(
    scanning,
    state,
    splitRange(request.fromHeight, to, () => blocks),
    { ...options, ahead },
  );
  checkLinked(parts);
  const read = parts.flatMap((part) => part.matched);
  const found = new Set(read.map(identityOf));
  const missing = parts.flatMap((part) => part.live).filter((transfer) => !found.has(identityOf(transfer)));
  if (missing.length > 0) observe.rescanContradicts(network.chain, missing);
  // What else such an answer says of the transaction may be the same movement under another position: credited twice.
  const doubted = new Set(missing.map(({ txHash }) => txHash));
  const matched = read.filter(({ txHash }) => !doubted.has(txHash));
  return {
    step: standStill(state),
    matched,
    matchedState: 'VERIFIED',
    orphanedIds: [],
    rescan: {
      requestId: request.requestId,
      nextHeight: Math.max(to + 1, request.fromHeight),
      isDone: to >= last,
    },
  };
}

/** All that must be as it is recorded. */
function identityOf(transfer: LiveTransfer | MatchedTransfer): string {
  const { txHash, position, blockHash, contract, to, amountBaseUnits } = transfer;
  return [txHash, position, blockHash, contract, to, amountBaseUnits].join(' ');
}

/** The ranges were read each by itself: of two branches they would give a transaction twice. Throws BRANCHES_DIFFER. */
function checkLinked(parts: readonly Part[]): void {
  parts.forEach((part, place) => {
    const [first, below] = [part.headers[0], parts[place - 1]?.headers.at(-1)];
    if (first === undefined || below === undefined || first.parentHash === below.hash) return;
    const context = { height: first.height, parent: first.parentHash, below: below.hash };
    throw scanError('BRANCHES_DIFFER', 'the parts of a rescan are of different branches', context);
  });
}

async function readRanges(
  scanning: Scanning,
  state: ChainState,
  ranges: Iterator<{ readonly from: number; readonly to: number }, unknown, undefined>,
  { ahead, signal: ended }: ReadOptions & { readonly ahead: PartsAhead },
): Promise<readonly Part[]> {
  const reads = createReadAhead({
    items: ranges,
    read: async ({ from, to }, signal) => {
      const part = await readAnew(scanning, state, from, to, { signal });
      ahead.note(part.readings);
      return part;
    },
    ahead: () => ahead.ahead(RANGES_PER_PART),
    signal: ended,
  });
  try {
    const parts: Part[] = [];
    for (let part = await reads.next(); part !== undefined; part = await reads.next()) parts.push(part);
    return parts;
  } finally {
    await reads.stop();
  }
}

/** The rescans of one chain, one part after another. */
export interface Rescans {
  /** The next part, or undefined when no rescan is asked for. Gives the same part until `committed` is called. */
  planNext(state: ChainState, options: ReadOptions): Promise<ScanChange | undefined>;
  /** The part planned last stands. */
  committed(): void;
  /** Whether a request is under way. */
  isPending(): boolean;
  /** Looks a request under way up anew: another replica may have gone on with it, or answered it. */
  forget(): void;
}

const LOOKUP_INTERVAL_MS = 5_000;

/**
 * Looks for requests every few seconds. How far a request got stands in its row, written with what was found: whoever
 * scans the chain goes on there, also after a crash.
 */
export function createRescans(deps: Scanning & { readonly clock: Clock }): Rescans {
  const ahead = createPartsAhead();
  let request: RescanRequest | undefined;
  let next: RescanRequest | undefined;
  let lookupAtMs = 0;
  return {
    async planNext(state, options) {
      const nowMs = deps.clock.now().getTime();
      if (request === undefined && nowMs >= lookupAtMs) {
        lookupAtMs = nowMs + LOOKUP_INTERVAL_MS;
        request = await deps.store.nextRescan(deps.network.chain);
      }
      if (request === undefined) return undefined;
      const change = await planRescan(deps, state, request, { ...options, ahead });
      const { isDone = true, nextHeight = 0 } = change.rescan ?? {};
      next = isDone ? undefined : { ...request, fromHeight: nextHeight };
      return change;
    },
    committed() {
      if (next === undefined) lookupAtMs = 0; // perhaps another waits
      request = next;
    },
    isPending: () => request !== undefined,
    forget() {
      request = undefined;
      next = undefined;
      lookupAtMs = 0;
    },
  };
}
