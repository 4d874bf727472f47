import type { CostObstacle, OpenSweep } from './store/sweep-facts.ts';

/** What keeps a sweep that has begun from going on, and is gone when somebody else does something, or prices fall. */
export type SweepObstacle = CostObstacle | 'ASSET_HELD' | 'WALLET_HALTED' | 'BUDGET' | 'UNKNOWN';

const REASONS: Readonly<Record<SweepObstacle, string>> = {
  WOULD_FAIL: 'the chain would refuse the transfer',
  FEES_ABOVE_CAP: 'fees are above what may be paid',
  ASSET_HELD: 'its asset is held back',
  WALLET_HALTED: 'the hot wallet is halted',
  BUDGET: 'the budget of the day is used up',
  UNKNOWN: 'nobody could say what it would cost',
};
/** Sources that don't answer, or answer differently, mostly do so before that; a token that is configured no more never does. */
const WAITS_WHERE_UNKNOWN = 6;

/**
 * Why the sweep is given up for its obstacle; undefined as long as it is waited for. A sweep that was tried already has waited
 * for as long as its transaction might have been signed.
 */
export function standsStill(
  { plannedAt, moves }: Pick<OpenSweep, 'plannedAt' | 'moves'>,
  obstacle: SweepObstacle,
  now: Date,
  waitMs: number,
): string | undefined {
  const wasTried = moves.some(({ kind, hasEndedUnpaid }) => kind === 'SWEEP' && hasEndedUnpaid);
  const sinceMs = Math.max(plannedAt.getTime(), ...moves.map(({ changedAt }) => changedAt.getTime()));
  const isUnknown = obstacle === 'UNKNOWN';
  const isOver = now.getTime() - sinceMs >= waitMs * (isUnknown ? WAITS_WHERE_UNKNOWN : 1);
  return isOver || (wasTried && !isUnknown) ? REASONS[obstacle] : undefined;
}
