import { FAMILIES, type Family } from '@opentill/domain/chains';
import { backupError } from './backup-error.ts';
import type { FamilyMarks } from './manifest.ts';

/** How far deposit indexes jump at a restore. */
export interface JumpRules {
  /** At least so many for each begun day since the backup. */
  readonly minimum: number;
  /** So many times what would have been given out at the highest rate ever seen. */
  readonly factor: number;
}

/**
 * An api process reserves 32,768 addresses when it starts, so that what one gives out may lie that far ahead for each start
 * since the backup: the minimum has room for some sixty starts a day.
 */
export const DEFAULT_JUMP: JumpRules = { minimum: 2_000_000, factor: 10 };

/** Where a family's indexes go on. Below it, whatever has no order may have been given out unknown to the backup. */
export interface IndexJump {
  readonly family: Family;
  readonly next: number;
}

/** BIP-32: below 2^31. */
const INDEX_END = 2 ** 31;
const HOUR_MS = 3_600_000;
const HOURS_A_DAY = 24;

/**
 * Where each family's addresses go on, so that none that was given out after the backup is given out again. Every family
 * jumps: one that the backup never saw used may have been used since.
 * @param awayMs from the backup's snapshot to the restore
 * @throws GatewayError RESTORE_FAILED when a family has no addresses left
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
