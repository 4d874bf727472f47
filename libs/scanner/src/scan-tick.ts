import { hasFinalBlocks } from '@opentill/contracts/network-config';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isSameLease, type Lease, type LeaseKeeper } from '@opentill/db/lease';
import { GatewayError } from '@opentill/domain/gateway-error';
import { seenBlock, type ChainState } from './chain-state.ts';
import { createRest } from './rest.ts';
import type { Changes, ScanChange } from './scan-change.ts';
import { createScanRounds, type RoundEnd } from './scan-round.ts';
import type { Scanning } from './scanning.ts';
import { verifiableHeight } from './depth.ts';

export interface ScanTickDeps extends Scanning {
  readonly lease: Pick<LeaseKeeper, 'current' | 'renew'>;
  /** Called after each commit; the outbox may have new events. */
  readonly onCommitted: () => void;
  /** Called with false while new heads cause no round. */
  readonly onFollowing?: (isFollowing: boolean) => void;
}

/**
 * Returns at once without the lease, while the chain is paused and while it rests. After any error the state is loaded
 * again.
 */
export function createScanTick(deps: ScanTickDeps): (signal: AbortSignal) => Promise<RoundEnd['next']> {
  const { network, reader, observe } = deps;
  const rounds = createScanRounds(deps);
  const isPaused = createPauseWatch(deps);
  const rest = createRest(deps, deps.onFollowing ?? (() => undefined));
  let held: { readonly lease: Lease; readonly state: ChainState } | undefined;
  let known: Lease | undefined;
  observe.watching(network, reader.sources);

  function noteLease(lease: Lease | undefined): void {
    // First, so that pending answers are not reported for a chain that another replica scans.
    if (!isSameLease(known, lease)) rounds.leaseChanged();
    known = lease;
    if (lease !== undefined) return;
    rest.stop();
    observe.closed(network.chain);
  }

  return async (signal) => {
    const lease = deps.lease.current();
    if (lease !== undefined && (await isPaused())) {
      rest.stop();
      return undefined;
    }
    const before = held;
    held = undefined;
    if (lease === undefined) {
      noteLease(undefined); // also after an error, when `held` is undefined
      return undefined;
    }
    try {
      noteLease(lease);
      const isCurrent = before !== undefined && isSameLease(before.lease, lease);
      if (!isCurrent) {
        rest.end();
        rounds.stateLoaded();
      }
      const pace = await rest.next();
      if (isCurrent && pace === 'rest') {
        held = before;
        return undefined;
      }
      const opened = isCurrent ? before.state : await open(deps, lease, { signal });
      const round = rounds.round(lease, opened, {
        signal,
        isLook: pace === 'look',
        hasRested: pace === 'after-rest',
      });
      const { state, next } = await commitEach(round, opened, async (from, planned) =>
        commit(deps, lease, from, await rounds.withFates(from, planned, { signal })),
      );
      held = { lease, state };
      if (next === undefined && !rounds.hasOpenOutcomes()) rest.quiet();
      return next;
    } catch (error) {
      rest.end();
      if (!(error instanceof GatewayError) || error.code !== 'LEASE_LOST') throw error;
      observe.refused(network.chain);
      await deps.lease.renew(); // detects the loss and drops the lease
      noteLease(undefined);
      return undefined;
    }
  };
}

async function commitEach<R>(
  round: Changes<R>,
  opened: ChainState,
  commitOne: (before: ChainState, planned: ScanChange) => Promise<ChainState>,
): Promise<R> {
  let state = opened;
  let step = await round.next(state);
  while (step.done !== true) {
    const committed = commitOne(state, step.value).then((after) => (state = after));
    step = await committed.then(
      (after) => round.next(after),
      (error: unknown) => round.throw(error),
    );
  }
  return step.value;
}

async function commit(
  { network, store, observe, onCommitted }: ScanTickDeps,
  lease: Lease,
  before: ChainState,
  change: ScanChange,
): Promise<ChainState> {
  const { chain } = network;
  const { orphaned, matchedState, step } = change;
  if (matchedState === 'VERIFIED' && orphaned.length > 0) observe.seenButNotVerified(chain, orphaned);
  const { state, written, spans } = await store.commit(lease, network, before, change);
  onCommitted();
  const depthBlocks = seenBlock(before).height - step.ancestorHeight;
  spans.end(() => observe.committed(chain, { state, written, depthBlocks }));
  return state;
}

/** Maximum delay until a pause or its end is noticed. */
const PAUSE_LOOKUP_MS = 2_000;

/** A paused chain keeps its lease, so that no other replica continues it. */
function createPauseWatch({ network: { chain }, store, observe, clock }: Scanning): () => Promise<boolean> {
  let isPaused = false;
  let lookupAtMs = 0;
  return async () => {
    const nowMs = clock.now().getTime();
    if (nowMs < lookupAtMs) return isPaused;
    const reason = await store.pauseReason(chain);
    lookupAtMs = nowMs + PAUSE_LOOKUP_MS;
    isPaused = reason !== undefined;
    observe.pauseSeen(chain, reason);
    return isPaused;
  };
}

async function open(deps: ScanTickDeps, lease: Lease, options: ReadOptions): Promise<ChainState> {
  const { network, store, observe } = deps;
  const stored = await store.loadState(network.chain);
  const state = stored ?? (await readFirstState(deps, options));
  if (stored === undefined) await store.insertFirstState(lease, network, state);
  observe.opened(network.chain, state, stored === undefined);
  return state;
}

/**
 * A new chain starts at the verified depth below the head; the seen pass reads the blocks above. Older blocks are
 * irrelevant, because the chain takes no orders before this commit. If forks may be deeper than the verified depth,
 * the reorganisation window is read as well. A second source confirms the start block: a start above the true head
 * would skip payments.
 */
async function readFirstState({ network, reader }: Scanning, options: ReadOptions): Promise<ChainState> {
  const head = await reader.head(options);
  const finalizedHeight =
    network.confirmations === 'finalized'
      ? Math.min((await reader.finalized(options)).height, head.height)
      : null;
  const facts = { linkedHeight: head.height, finalizedHeight, isFinalityStale: false };
  const verifiedHeight = Math.max(0, verifiableHeight(network, facts));
  const isFinal = hasFinalBlocks(network);
  const oldestHeight = isFinal ? verifiedHeight : Math.max(0, verifiedHeight - network.reorgWindow);
  const blocks = await reader.headers(oldestHeight, verifiedHeight, options);
  const verified = blocks.at(-1);
  if (verified !== undefined) await reader.confirmBlock(verified, options);
  return { head, finalizedHeight: isFinal ? finalizedHeight : null, verifiedHeight, blocks };
}
