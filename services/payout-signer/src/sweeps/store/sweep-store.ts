import type { Lease } from '@opentill/db/lease';
import type { SweepPlanJson } from '@opentill/db/sweep-tables';
import type { DepositPosition, NewMovement, NewSweep, SweepBooks } from './sweep-facts.ts';

/** Each write asserts the lease first. */
export interface SweepStore {
  /** @param after undefined: from the oldest balance on */
  look(after: DepositPosition | undefined): Promise<SweepBooks>;
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
  /**
   * False if the sweep has an order, or if orders of the last 24 hours would exceed `maxPerDay`. Then no order may be
   * sent. Prices in native coin.
   */
  orderEnergy(lease: Lease, sweepId: string, price: bigint, maxPerDay: bigint): Promise<boolean>;
  /** `ref`: id at the seller. */
  energyOrdered(lease: Lease, sweepId: string, ref: string): Promise<void>;
  /** The order cost no coin. The sweep ends. */
  energyRefused(lease: Lease, sweepId: string): Promise<void>;
  savePlan(lease: Lease, plan: SweepPlanJson): Promise<void>;
  handled(lease: Lease, requests: readonly number[], planned: number): Promise<void>;
}
