import type { LeaseKeeper } from '@opentill/db/lease';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import { startLeaseLoop } from '../wallet/lease-loop.ts';
import { planRound } from './plan-round.ts';
import type { PlannerDeps } from './planner-deps.ts';
import type { RoundMemory } from './turn-round.ts';

export interface PlanningDeps extends PlannerDeps {
  /** `sweeps/<chain>`: one replica plans. */
  readonly leaseKeeper: LeaseKeeper;
  readonly leaseIntervalMs: number;
  /** Pause between rounds. */
  readonly everyMs: number;
  readonly onError: (error: unknown, failuresInRow: number) => void;
}

const MAX_BACKOFF_MS = 60_000;

/**
 * The planner of one chain's sweeps: plans while this replica has the lease, and asks for the lease while it has not. To be
 * woken when there may be something to go on with.
 */
export function startPlanner(deps: PlanningDeps): Loop {
  const { leaseKeeper } = deps;
  const memory: RoundMemory = { after: undefined };
  const name = `sweeps ${deps.network.chain}`;
  const work = startLoop({
    name,
    intervalMs: deps.everyMs,
    maxBackoffMs: Math.max(deps.everyMs, MAX_BACKOFF_MS),
    run: async (signal) => {
      const lease = leaseKeeper.current();
      return lease === undefined ? undefined : planRound(deps, memory, lease, signal);
    },
    onError: deps.onError,
  });
  return startLeaseLoop({ ...deps, name, maxBackoffMs: MAX_BACKOFF_MS, work });
}
