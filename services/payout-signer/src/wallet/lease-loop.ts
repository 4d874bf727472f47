import type { LeaseKeeper } from '@opentill/db/lease';
import { startLoop, type Loop } from '@opentill/runtime/loop';

/** Work that only the holder of a lease may do. */
export interface LeaseLoopDeps {
  readonly leaseKeeper: LeaseKeeper;
  /** How often the lease is renewed, or asked for: a third of its time to live. */
  readonly leaseIntervalMs: number;
  /** What the lease is of; for debuggers. */
  readonly name: string;
  /** The longest pause after failures to get the lease. */
  readonly maxBackoffMs: number;
  /** Looks by itself whether the lease is held, at each round. */
  readonly work: Loop;
  readonly onError: (error: unknown, failuresInRow: number) => void;
}

/**
 * Keeps asking for a lease, and wakes the work when it is got. Two loops beside each other, so that work that waits for slow
 * nodes doesn't cost the lease.
 *
 * @returns the two as one: `stop` ends the round of work that is under way and then gives the lease back
 */
export function startLeaseLoop(deps: LeaseLoopDeps): Loop {
  const { leaseKeeper, work, onError } = deps;
  const leases = startLoop({
    name: `lease of ${deps.name}`,
    intervalMs: deps.leaseIntervalMs,
    maxBackoffMs: deps.maxBackoffMs,
    run: async () => {
      const wasHeld = leaseKeeper.current() !== undefined;
      if ((await leaseKeeper.acquire()) !== undefined && !wasHeld) work.wake();
    },
    onError,
  });
  return {
    wake: () => work.wake(),
    async stop() {
      await Promise.all([work.stop(), leases.stop()]);
      await leaseKeeper.release().catch((error: unknown) => onError(error, 1));
    },
  };
}
