import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { Lease, LeaseKeeper } from '@opentill/db/lease';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Clock } from '@opentill/runtime/clock';
import { seenBlock, type ChainState } from './chain-state.ts';
import { readFirstState } from './first-state.ts';
import { createPauseWatch } from './pause-watch.ts';
import { createRoundParts, type RoundParts } from './round-parts.ts';
import type { ScanChange } from './scan-change.ts';
import type { Scanning } from './scanning.ts';
import { verifiedTarget } from './verifiable-height.ts';

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
  /** The last round ended with its head: what it showed is not believed yet. */
  readonly isHeldBack: boolean;
}

/**
 * Makes the round of one chain: the seen pass, the verified pass, a part of a rescan, each committed by itself, with what
 * became of own transactions; these also when nothing else is to be committed. Does nothing without the lease, nor while an
 * operator has paused the chain. 'again' when there is more to do at once, 'soon' when something waits that no new head has
 * to come for. After any error the state is read again from
 * the database, since a commit whose answer was lost may stand. Where reading for the verified pass or a rescan fails,
 * only that waits: payments are shown on while a chain's finality stalls. A chain that is far behind is caught up with
 * in parallel first; where that fails the passes go on, block range by block range, until it is tried again.
 */
export function createScanTick(
  deps: ScanTickDeps,
): (signal: AbortSignal) => Promise<'again' | 'soon' | undefined> {
  const { network, reader, observe } = deps;
  const parts = createRoundParts(deps);
  const isPaused = createPauseWatch(deps);
  const { finality, rescans } = parts;
  observe.watching(network, reader.sources);
  let held: Held | undefined;
  const tenure = createTenure(deps, parts);
  async function round({ lease, state: opened }: Held, signal: AbortSignal): Promise<Held> {
    const options = { signal };
    const save = async (state: ChainState, change: ScanChange): Promise<ChainState> =>
      commit(deps, lease, state, await parts.fates.addTo(state, change, options));
    const head = await reader.head(options);
    observe.headNamed(network.chain, head);
    parts.fates.begin(opened, head, options);
    parts.tokens.look(options);
    const before = await parts.catchUpWithHead(opened, head, save, options);
    const change = await parts.planSeen(before, head, options);
    // Depths reckoned from the old head don't hold.
    if (change === 'shorter-branch' || change === 'held')
      return { lease, state: before, hasMoved: false, isHeldBack: true };
    const seen = change === undefined ? before : await save(before, change);
    const verified = await parts.verify(seen, save, options);
    await parts.epochs.run(lease, verified, options);
    const rescanned = await parts.rescan(verified, save, options);
    const fates = await parts.fates.planIdle(rescanned, options);
    const state = fates === undefined ? rescanned : await save(rescanned, fates);
    return {
      lease,
      state,
      hasMoved: seenBlock(opened).height !== seenBlock(state).height || change !== undefined,
      isHeldBack: false,
    };
  }

  function whatFollows({ state, hasMoved, isHeldBack }: Held): 'again' | 'soon' | undefined {
    if (isHeldBack) return 'soon';
    const isVerifiable = verifiedTarget(state, network, finality.view().isStale) > state.verifiedHeight;
    const isBehind = hasMoved && seenBlock(state).height < state.head.height;
    if (isBehind || (isVerifiable && parts.isVerifyingDue()) || parts.isRescanDue()) return 'again';
    return isVerifiable ? 'soon' : undefined;
  }

  return async (signal) => {
    const lease = deps.lease.current();
    if (lease !== undefined && (await isPaused())) return undefined;
    const before = held;
    held = undefined;
    if (lease === undefined) {
      tenure.end(); // also after an error, which left nothing held
      return undefined;
    }
    try {
      tenure.begin(lease);
      const isCurrent = before?.lease.fencingToken === lease.fencingToken;
      if (!isCurrent) rescans.forget();
      held = await round(isCurrent ? before : await open(deps, lease, { signal }), signal);
      return whatFollows(held);
    } catch (error) {
      rescans.forget();
      if (!(error instanceof GatewayError) || error.code !== 'LEASE_LOST') throw error;
      observe.refused(network.chain);
      await deps.lease.renew(); // finds the lease gone and forgets it
      tenure.end();
      return undefined;
    }
  };
}

/** From one lease to the next: nothing that was noted under one counts under another. */
function createTenure(
  { network, observe }: Pick<ScanTickDeps, 'network' | 'observe'>,
  parts: Pick<RoundParts, 'leaseChanged'>,
): { begin(lease: Lease): void; end(): void } {
  let knownToken: Lease['fencingToken'] | undefined;
  return {
    begin({ fencingToken }) {
      if (knownToken !== fencingToken) parts.leaseChanged();
      knownToken = fencingToken;
    },
    end() {
      // First: what is still being answered must tell nothing of a chain that is another replica's.
      if (knownToken !== undefined) parts.leaseChanged();
      knownToken = undefined;
      observe.closed(network.chain);
    },
  };
}

async function open(deps: ScanTickDeps, lease: Lease, options: ReadOptions): Promise<Held> {
  const { network, store, observe } = deps;
  const stored = await store.loadState(network.chain);
  const state = stored ?? (await readFirstState(deps, options));
  if (stored === undefined) await store.insertFirstState(lease, network, state);
  observe.opened(network.chain, state, stored === undefined);
  return { lease, state, hasMoved: false, isHeldBack: false };
}

async function commit(
  { network, store, observe, onCommitted }: ScanTickDeps,
  lease: Lease,
  before: ChainState,
  change: ScanChange,
): Promise<ChainState> {
  const { state, written } = await store.commit(lease, network, before, change);
  onCommitted();
  const depthBlocks = seenBlock(before).height - change.step.ancestorHeight;
  observe.committed(network.chain, { state, written, depthBlocks });
  return state;
}
