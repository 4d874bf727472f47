import type { LeaseKeeper } from '@opentill/db/lease';
import { startLoop, type Loop } from '@opentill/runtime/loop';

export interface LeaseLoopDeps {
  readonly leaseKeeper: LeaseKeeper;
  /** The lease is renewed or requested at this interval: a third of its time to live. */
  readonly leaseIntervalMs: number;
  readonly name: string;
  readonly maxBackoffMs: number;
  /** Must check in each round that the lease is held. */
  readonly work: Loop;
  readonly onError: (error: unknown, failuresInRow: number) => void;
}

/** Work that waits for slow nodes does not cost the lease. `stop` ends the current round of work first. */
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
