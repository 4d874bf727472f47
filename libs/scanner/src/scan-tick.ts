import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { Lease, LeaseKeeper } from '@opentill/db/lease';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Clock } from '@opentill/runtime/clock';
import { seenBlock, verifiedTarget, type ChainState } from './chain-state.ts';
import { readFirstState } from './first-state.ts';
import { createHoldOff } from './hold-off.ts';
import type { ScanChange } from './scan-change.ts';
import type { Scanning } from './scanning.ts';
import { planSeenPass } from './seen-pass.ts';
import { planRescan, planVerifiedPass, type RescanRequest } from './verified-pass.ts';

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
}

const RESCAN_LOOKUP_INTERVAL_MS = 5_000;

/**
 * Makes the round of one chain: the seen pass, the verified pass, a part of a rescan, each committed by itself. Does
 * nothing without the lease. 'again' when there is more to do at once. After any error the state is read again from
 * the database, since a commit whose answer was lost may stand. Errors of the verified pass keep only that pass back:
 * payments are shown on while a chain's finality stalls.
 */
export function createScanTick(deps: ScanTickDeps): (signal: AbortSignal) => Promise<void | 'again'> {
  const { network, store, observe } = deps;
  const verifying = createHoldOff(deps.clock);
  let held: Held | undefined;
  let rescan: RescanRequest | undefined;
  let rescanLookupAtMs = 0;

  async function open(lease: Lease, options: ReadOptions): Promise<Held> {
    rescan = undefined;
    const stored = await store.loadState(network.chain);
    const state = stored ?? (await readFirstState(deps, options));
    if (stored === undefined) await store.insertFirstState(lease, network, state);
    observe.opened(network.chain, state, stored === undefined);
    return { lease, state };
  }

  async function commit({ lease, state: before }: Held, change: ScanChange): Promise<Held> {
    const { state, written } = await store.commit(lease, network, before, change);
    deps.onCommitted();
    const depthBlocks = seenBlock(before).height - change.step.ancestorHeight;
    observe.committed(network.chain, { before, state, written, depthBlocks });
    return { lease, state };
  }

  async function followVerified(from: Held, options: ReadOptions): Promise<Held> {
    if (!verifying.isDue()) return from;
    let change: ScanChange | undefined;
    try {
      change = await planVerifiedPass(deps, from.state, options);
      verifying.succeeded();
    } catch (error) {
      if (options.signal?.aborted === true) throw error;
      observe.failed(network.chain, 'verified', error, verifying.failed(error));
      return from;
    }
    return change === undefined ? from : commit(from, change);
  }

  async function serveRescan(from: Held, options: ReadOptions): Promise<Held> {
    const nowMs = deps.clock.now().getTime();
    if (rescan === undefined && nowMs >= rescanLookupAtMs) {
      rescanLookupAtMs = nowMs + RESCAN_LOOKUP_INTERVAL_MS;
      rescan = await store.nextRescan(network.chain);
    }
    if (rescan === undefined) return from;
    const { change, nextHeight } = await planRescan(deps, from.state, rescan, options);
    const next = await commit(from, change);
    if (change.rescan?.isDone === true) {
      rescanLookupAtMs = 0; // perhaps another waits
      rescan = undefined;
    } else rescan = { ...rescan, fromHeight: nextHeight };
    return next;
  }

  function hasMore(state: ChainState): boolean {
    const verifiable = verifiedTarget(state, network.confirmations) > state.verifiedHeight;
    return (
      seenBlock(state).height < state.head.height || (verifiable && verifying.isDue()) || rescan !== undefined
    );
  }

  return async (signal) => {
    const lease = deps.lease.current();
    if (lease === undefined) {
      if (held !== undefined) observe.closed(network.chain);
      held = undefined;
      return undefined;
    }
    const options = { signal };
    try {
      let at = held?.lease.fencingToken === lease.fencingToken ? held : await open(lease, options);
      held = undefined;
      const seen = await planSeenPass(deps, at.state, options);
      if (seen !== undefined) at = await commit(at, seen);
      at = await followVerified(at, options);
      at = await serveRescan(at, options);
      held = at;
      return hasMore(at.state) ? 'again' : undefined;
    } catch (error) {
      held = undefined;
      if (!(error instanceof GatewayError) || error.code !== 'LEASE_LOST') throw error;
      await deps.lease.renew(); // finds the lease gone and forgets it
      observe.closed(network.chain);
      return undefined;
    }
  };
}
