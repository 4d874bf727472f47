import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { Clock } from '@opentill/runtime/clock';
import type { ChainState } from './chain-state.ts';
import { notFound, type RescanRequest, type ScanChange } from './scan-change.ts';
import type { Scanning } from './scanning.ts';
import { readAnew, standStill } from './verified-pass.ts';

/**
 * Reads the next part of a rescan. Only blocks below the verified cursor are read: the ones above it are about to be
 * read anew anyway. It records what is missing and takes nothing back: what it does not find is an operator's case.
 */
async function planRescan(
  scanning: Scanning,
  state: ChainState,
  request: RescanRequest,
  options: ReadOptions,
): Promise<{ readonly change: ScanChange; readonly nextHeight: number }> {
  const { network, observe } = scanning;
  const last = Math.min(request.toHeight, state.verifiedHeight);
  const to = Math.min(last, request.fromHeight + network.maxBlockRange - 1);
  const { matched, live } =
    to < request.fromHeight
      ? { matched: [], live: [] }
      : await readAnew(scanning, state, request.fromHeight, to, options);
  const missing = notFound(live, matched);
  if (missing.length > 0) observe.rescanContradicts(network.chain, missing);
  return {
    change: {
      step: standStill(state),
      matched,
      matchedState: 'VERIFIED',
      orphanedIds: [],
      rescan: { requestId: request.requestId, isDone: to >= last },
    },
    nextHeight: to + 1,
  };
}

/** The rescans of one chain, one part after another. */
export interface Rescans {
  /** The next part, or undefined when no rescan is asked for. Gives the same part until `committed` is called. */
  planNext(state: ChainState, options: ReadOptions): Promise<ScanChange | undefined>;
  /** The part planned last stands. */
  committed(): void;
  /** Whether a request is under way. */
  isPending(): boolean;
  /** Begins a request under way anew: another replica may have answered it. */
  forget(): void;
}

const LOOKUP_INTERVAL_MS = 5_000;

/** Looks for requests every few seconds. How far a request got is kept in memory alone: reading twice does no harm. */
export function createRescans(deps: Scanning & { readonly clock: Clock }): Rescans {
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
      const { change, nextHeight } = await planRescan(deps, state, request, options);
      next = change.rescan?.isDone === true ? undefined : { ...request, fromHeight: nextHeight };
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
