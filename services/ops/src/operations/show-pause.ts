import type { OpsAnswer } from '@opentill/contracts/ops/catalog';
import { time } from '../format.ts';
import type { PauseRow } from '../store/pauses.ts';

export function showPause({
  operator,
  reason,
  pausedAt,
}: PauseRow): NonNullable<OpsAnswer<'pauseChain'>['pause']> {
  return { operator, reason, pausedAt: time(pausedAt) };
}
