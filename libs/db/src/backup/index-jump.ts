import { FAMILIES, type Family } from '@opentill/domain/chains';
import { backupError } from './backup-error.ts';
import type { FamilyMarks } from './manifest.ts';

export interface JumpRules {
  /** Minimum per started day since the backup. */
  readonly minimum: number;
  /** Multiple of the number assigned at the highest rate ever seen. */
  readonly factor: number;
}

/** Each start of an api process reserves 32,768 addresses. The minimum allows about 60 starts a day. */
export const DEFAULT_JUMP: JumpRules = { minimum: 2_000_000, factor: 10 };

/** Lower indexes without an order may have been assigned after the backup. */
export interface IndexJump {
  readonly family: Family;
  readonly next: number;
}

/** BIP-32 limit: indexes are below 2^31. */
const INDEX_END = 2 ** 31;
const HOUR_MS = 3_600_000;
const HOURS_A_DAY = 24;

/**
 * Every family jumps, even if unused at the backup, so that no address is assigned twice.
 * @param awayMs time from the backup's snapshot to the restore
 * @throws GatewayError RESTORE_FAILED if a family has no addresses left
 */
export function planJumps(
  families: Readonly<Record<Family, FamilyMarks>>,
  awayMs: number,
  { minimum, factor }: JumpRules,
): readonly IndexJump[] {
  const hours = Math.max(1, Math.ceil(awayMs / HOUR_MS) + 1);
  const days = Math.ceil(hours / HOURS_A_DAY);
  return FAMILIES.map((family) => {
    const { nextIndex, peakPerHour } = families[family];
    const next = nextIndex + Math.max(minimum * days, Math.ceil(factor * peakPerHour * hours));
    if (next >= INDEX_END)
      throw backupError(
        'RESTORE_FAILED',
        `${family} has no addresses left after a jump from ${nextIndex} to ${next}`,
      );
    return { family, next };
  });
}
