import type { Lease } from '@opentill/db/lease';
import type { SweepPlanJson } from '@opentill/db/sweep-tables';
import type { DepositPosition, NewMovement, NewSweep, SweepBooks } from './sweep-facts.ts';

/** Every write first checks that the lease is still held. */
export interface SweepStore {
  readView(after: DepositPosition | undefined): Promise<SweepBooks>;
  /** False if the balance is already reserved, or the address has an open sweep. */
  begin(lease: Lease, sweep: NewSweep): Promise<boolean>;
  /** False if its amount is not available. */
  move(lease: Lease, movement: NewMovement): Promise<boolean>;
  end(
    lease: Lease,
    sweepId: string,
    state: 'DONE' | 'FAILED' | 'ABANDONED',
    reason: string | null,
  ): Promise<void>;
  /**
   * False if the sweep already has an order, or if the orders of the last 24 hours would exceed `maxPerDay`. Prices in
   * base units of the native coin.
   */
  orderEnergy(lease: Lease, sweepId: string, price: bigint, maxPerDay: bigint): Promise<boolean>;
  energyOrdered(lease: Lease, sweepId: string, ref: string): Promise<void>;
  energyRefused(lease: Lease, sweepId: string): Promise<void>;
  savePlan(lease: Lease, plan: SweepPlanJson): Promise<void>;
  handled(lease: Lease, requests: readonly number[], planned: number): Promise<void>;
}
