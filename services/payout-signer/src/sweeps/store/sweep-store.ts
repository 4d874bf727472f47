import type { Lease } from '@opentill/db/lease';
import type { SweepPlanJson } from '@opentill/db/sweep-tables';
import type { LyingPosition, NewMovement, NewSweep, SweepBooks } from './sweep-facts.ts';

/** The planner's part of the database, of one chain. Each write asserts the lease first. */
export interface SweepStore {
  /** @param after of what lies there only what is behind this; undefined: from the oldest on */
  look(after: LyingPosition | undefined): Promise<SweepBooks>;
  /** Writes the sweep and begins its first movement. False when what lies there is promised meanwhile, or its address is busy. */
  begin(lease: Lease, sweep: NewSweep): Promise<boolean>;
  /** Begins a movement. False when its amount is not there. */
  move(lease: Lease, movement: NewMovement): Promise<boolean>;
  end(
    lease: Lease,
    sweepId: string,
    state: 'DONE' | 'FAILED' | 'ABANDONED',
    reason: string | null,
  ): Promise<void>;
  /**
   * Notes that energy is ordered for a sweep, for so much of the native coin. False when it was before, or what was ordered in the
   * last 24 hours would be more than `maxPerDay` with it: then nothing may be ordered.
   */
  orderEnergy(lease: Lease, sweepId: string, price: bigint, maxPerDay: bigint): Promise<boolean>;
  /** The seller has taken the order, and calls it so. */
  energyOrdered(lease: Lease, sweepId: string, ref: string): Promise<void>;
  /** The seller has refused the order: it cost nothing, and the sweep ends. */
  energyRefused(lease: Lease, sweepId: string): Promise<void>;
  /** For operators. */
  savePlan(lease: Lease, plan: SweepPlanJson): Promise<void>;
  handled(lease: Lease, requests: readonly number[], planned: number): Promise<void>;
}
