import type { Lease } from '@opentill/db/lease';
import type { SweepPlanJson } from '@opentill/db/sweep-tables';
import type { DepositPosition, NewMovement, NewSweep, SweepBooks } from './sweep-facts.ts';

/** Database access of one chain's planner. Each write asserts the lease first. */
export interface SweepStore {
  /** @param after reads only balances behind this one; undefined: from the oldest on */
  look(after: DepositPosition | undefined): Promise<SweepBooks>;
  /** Stores the sweep and begins its first movement. False if the balance was reserved, or the address is busy. */
  begin(lease: Lease, sweep: NewSweep): Promise<boolean>;
  /** Begins a movement. False if its amount is not available. */
  move(lease: Lease, movement: NewMovement): Promise<boolean>;
  end(
    lease: Lease,
    sweepId: string,
    state: 'DONE' | 'FAILED' | 'ABANDONED',
    reason: string | null,
  ): Promise<void>;
  /**
   * Records an energy order for a sweep, at this price in native coin. False if it has one, or if orders of the last
   * 24 hours would exceed `maxPerDay`: then no order may be sent.
   */
  orderEnergy(lease: Lease, sweepId: string, price: bigint, maxPerDay: bigint): Promise<boolean>;
  /** The seller accepted the order; `ref` is its id there. */
  energyOrdered(lease: Lease, sweepId: string, ref: string): Promise<void>;
  /** The seller rejected the order: it cost no coin, and the sweep ends. */
  energyRefused(lease: Lease, sweepId: string): Promise<void>;
  /** Stores the plan for operators. */
  savePlan(lease: Lease, plan: SweepPlanJson): Promise<void>;
  handled(lease: Lease, requests: readonly number[], planned: number): Promise<void>;
}
