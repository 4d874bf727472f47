import type { OpsAnswer } from '@opentill/contracts/ops/catalog';
import { time, timeOrNull } from '../format.ts';
import type { CursorRow } from '../store/chains.ts';
import type { HaltRow, HoldRow, IncidentRow } from '../store/watch.ts';

export function showHalt(row: HaltRow): OpsAnswer<'setHalt'> {
  return { ...row, setAt: time(row.setAt), releasedAt: timeOrNull(row.releasedAt) };
}

export function showHold(row: HoldRow): OpsAnswer<'setHold'> {
  return { ...row, setAt: time(row.setAt), releasedAt: timeOrNull(row.releasedAt) };
}

export function showIncident(row: IncidentRow): OpsAnswer<'closeIncident'> {
  return { ...row, openedAt: time(row.openedAt), closedAt: timeOrNull(row.closedAt) };
}

export function showCursor(row: CursorRow): NonNullable<OpsAnswer<'getOrder'>['chainCursor']> {
  return {
    headHeight: row.headHeight,
    headTime: time(row.headTime),
    finalizedHeight: row.finalizedHeight,
    seenHeight: row.seenHeight,
    verifiedHeight: row.verifiedHeight,
    verifiedTime: time(row.verifiedTime),
    lagBlocks: row.headHeight - row.seenHeight,
    verifiedLagBlocks: row.headHeight - row.verifiedHeight,
    updatedAt: time(row.updatedAt),
    ageSeconds: row.ageSeconds,
  };
}
