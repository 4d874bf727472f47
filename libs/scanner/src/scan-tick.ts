import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { Lease, LeaseKeeper } from '@opentill/db/lease';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Clock } from '@opentill/runtime/clock';
import { seenBlock, verifiedTarget, type ChainState } from './chain-state.ts';
import { readFirstState } from './first-state.ts';
import { createHoldOff, type HoldOff } from './hold-off.ts';
import { createRescans } from './rescan.ts';
import type { ScanChange } from './scan-change.ts';
import type { Scanning } from './scanning.ts';
import { planSeenPass } from './seen-pass.ts';
import { planVerifiedPass } from './verified-pass.ts';

export interface ScanTickDeps extends Scanning {
  readonly lease: Pick<LeaseKeeper, 'current' | 'renew'>;
  readonly clock: Clock;
  /** A commit added events to the outbox, perhaps. */
  readonly onCommitted: () => void;
}

/** A state and the lease under which it was loaded; worthless under another. */
interface Held {
  readonly lease: Lease;
  readonly state: ChainState;
  /** The seen cursor moved in the last round, so that a head above it is likely to be read in the next. */
  readonly hasMoved: boolean;
}

const SHORTER_BRANCH_GRACE_MS = 2_000;

/**
 * Makes the round of one chain: the seen pass, the verified pass, a part of a rescan, each committed by itself. Does
 * nothing without the lease. 'again' when there is more to do at once. After any error the state is read again from
 * the database, since a commit whose answer was lost may stand. Where reading for the verified pass or a rescan fails,
 * only that waits: payments are shown on while a chain's finality stalls.
 */
export function createScanTick(deps: ScanTickDeps): (signal: AbortSignal) => Promise<void | 'again'> {
  const { network, observe } = deps;
  const verifying = createHoldOff(deps.clock);
  const rescanning = createHoldOff(deps.clock);
  const rescans = createRescans(deps);
  const planSeen = createSeenPlan(deps);
  let held: Held | undefined;
  async function round({ lease, state: before }: Held, signal: AbortSignal): Promise<Held> {
    const options = { signal };
    const planApart = createPlanApart(deps, signal);
    const change = await planSeen(before, options);
    if (change === 'shorter-branch') return { lease, state: before, hasMoved: false }; // depths reckoned from the old head don't hold
    const seen = await commit(deps, lease, before, change);
    const verify = await planApart('verified', verifying, () => planVerifiedPass(deps, seen, options));
    const verified = await commit(deps, lease, seen, verify);
    const part = await planApart('rescan', rescanning, () => rescans.planNext(verified, options));
    const state = await commit(deps, lease, verified, part);
    if (part !== undefined) rescans.committed();
    return { lease, state, hasMoved: change !== undefined };
  }

  function hasMore({ state, hasMoved }: Held): boolean {
    const isVerifiable = verifiedTarget(state, network.confirmations) > state.verifiedHeight;
    const isBehind = hasMoved && seenBlock(state).height < state.head.height;
    return isBehind || (isVerifiable && verifying.isDue()) || (rescans.isPending() && rescanning.isDue());
  }

  return async (signal) => {
    const lease = deps.lease.current();
    const before = held;
    held = undefined;
    if (lease === undefined) {
      if (before !== undefined) observe.closed(network.chain);
      return undefined;
    }
    try {
      const isCurrent = before?.lease.fencingToken === lease.fencingToken;
      if (!isCurrent) rescans.forget();
      held = await round(isCurrent ? before : await open(deps, lease, { signal }), signal);
      return hasMore(held) ? 'again' : undefined;
    } catch (error) {
      rescans.forget();
      if (!(error instanceof GatewayError) || error.code !== 'LEASE_LOST') throw error;
      await deps.lease.renew(); // finds the lease gone and forgets it
      observe.closed(network.chain);
      return undefined;
    }
  };
}

/** Plans the seen pass. A shorter branch is followed when it stays: it may be the chain's, though most grow at once. */
function createSeenPlan(
  deps: ScanTickDeps,
): (state: ChainState, options: ReadOptions) => Promise<ScanChange | 'shorter-branch' | undefined> {
  let shorterSinceMs: number | undefined;
  return async (state, options) => {
    const nowMs = deps.clock.now().getTime();
    const mayShrink = shorterSinceMs !== undefined && nowMs - shorterSinceMs >= SHORTER_BRANCH_GRACE_MS;
    const change = await planSeenPass(deps, state, mayShrink, options);
    shorterSinceMs = change === 'shorter-branch' ? (shorterSinceMs ?? nowMs) : undefined;
    return change;
  };
}

/** Runs a plan whose failure holds only itself back. What it plans is for the caller to commit, and never left out. */
function createPlanApart({ network, observe }: ScanTickDeps, signal: AbortSignal) {
  return async (
    part: 'verified' | 'rescan',
    holdOff: HoldOff,
    plan: () => Promise<ScanChange | undefined>,
  ): Promise<ScanChange | undefined> => {
    if (!holdOff.isDue()) return undefined;
    try {
      const change = await plan();
      holdOff.succeeded();
      return change;
    } catch (error) {
      if (signal.aborted) throw error;
      observe.failed(network.chain, part, error, holdOff.failed(error));
      return undefined;
    }
  };
}

async function open(deps: ScanTickDeps, lease: Lease, options: ReadOptions): Promise<Held> {
  const { network, store, observe } = deps;
  const stored = await store.loadState(network.chain);
  const state = stored ?? (await readFirstState(deps, options));
  if (stored === undefined) await store.insertFirstState(lease, network, state);
  observe.opened(network.chain, state, stored === undefined);
  return { lease, state, hasMoved: false };
}

async function commit(
  { network, store, observe, onCommitted }: ScanTickDeps,
  lease: Lease,
  before: ChainState,
  change: ScanChange | undefined,
): Promise<ChainState> {
  if (change === undefined) return before;
  const { state, written } = await store.commit(lease, network, before, change);
  onCommitted();
  const depthBlocks = seenBlock(before).height - change.step.ancestorHeight;
  observe.committed(network.chain, { state, written, depthBlocks });
  return state;
}
