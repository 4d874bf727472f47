import type { LeaseKeeper } from '@opentill/db/lease';
import { startLoop } from '@opentill/runtime/loop';
import { planRound } from './plan-round.ts';
import type { PlannerDeps } from './planner-deps.ts';

export interface PlanningDeps extends PlannerDeps {
  /** `sweeps/<chain>`: one replica plans. */
  readonly leaseKeeper: LeaseKeeper;
  readonly leaseIntervalMs: number;
  /** Pause between rounds. */
  readonly everyMs: number;
  readonly onError: (error: unknown, failuresInRow: number) => void;
}

/** The planner of one chain's sweeps. */
export interface Planner {
  /** There may be something to go on with. */
  wake(): void;
  /** Ends the round that is under way and gives the lease back. */
  stop(): Promise<void>;
}

const MAX_BACKOFF_MS = 60_000;

/** Plans while this replica has the lease, and asks for the lease while it has not. */
export function startPlanner(deps: PlanningDeps): Planner {
  const { leaseKeeper } = deps;
  const rounds = startLoop({
    name: `sweeps ${deps.network.chain}`,
    intervalMs: deps.everyMs,
    maxBackoffMs: Math.max(deps.everyMs, MAX_BACKOFF_MS),
    run: async (signal) => {
      const lease = leaseKeeper.current();
      return lease === undefined ? undefined : planRound(deps, lease, signal);
    },
    onError: deps.onError,
  });
  const leases = startLoop({
    name: `lease of sweeps ${deps.network.chain}`,
    intervalMs: deps.leaseIntervalMs,
    maxBackoffMs: MAX_BACKOFF_MS,
    run: async () => {
      const wasHeld = leaseKeeper.current() !== undefined;
      if ((await leaseKeeper.acquire()) !== undefined && !wasHeld) rounds.wake();
    },
    onError: deps.onError,
  });
  return {
    wake: () => rounds.wake(),
    async stop() {
      await Promise.all([rounds.stop(), leases.stop()]);
      await leaseKeeper.release().catch((error: unknown) => deps.onError(error, 1));
    },
  };
}
