import type { Lease } from '@opentill/db/lease';
import type { SweepPlanJson } from '@opentill/db/sweep-tables';
import type { DepositPosition, NewMovement, NewSweep, SweepBooks } from './sweep-facts.ts';

/** Each write asserts the lease first. */
export interface SweepStore {
  readView(after: DepositPosition | undefined): Promise<SweepBooks>;
  /** False if the balance was reserved, or the address is busy. */
  begin(lease: Lease, sweep: NewSweep): Promise<boolean>;
  /** False if its amount is not available. */
  move(lease: Lease, movement: NewMovement): Promise<boolean>;
  end(
    lease: Lease,
    sweepId: string,
    state: 'DONE' | 'FAILED' | 'ABANDONED',
    reason: string | null,
  ): Promise<void>;
  /** False if the sweep has an order, or if orders of 24 hours would exceed `maxPerDay`. Prices in native coin. */
  orderEnergy(lease: Lease, sweepId: string, price: bigint, maxPerDay: bigint): Promise<boolean>;
  energyOrdered(lease: Lease, sweepId: string, ref: string): Promise<void>;
  energyRefused(lease: Lease, sweepId: string): Promise<void>;
  savePlan(lease: Lease, plan: SweepPlanJson): Promise<void>;
  handled(lease: Lease, requests: readonly number[], planned: number): Promise<void>;
}
