import type { Lease } from '@opentill/db/lease';
import type { PlannerDeps } from './planner-deps.ts';
import type { OpenSweep, SweepBooks } from './store/sweep-facts.ts';

/** One open sweep in a round. */
export interface OpenStep {
  readonly deps: PlannerDeps;
  readonly lease: Lease;
  readonly sweep: OpenSweep;
  readonly books: SweepBooks;
  readonly signal: AbortSignal;
  /** It has ended: so much of the day's budget is not to come any more. */
  readonly onEnded: (stillToCome: bigint) => void;
}
