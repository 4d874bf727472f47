import { FAMILIES, type Family } from '@opentill/domain/chains';
import { backupError } from './backup-error.ts';
import type { FamilyMarks } from './manifest.ts';

/** How far deposit indexes jump at a restore. */
export interface JumpRules {
  /** At least so many. */
  readonly minimum: number;
  /** So many times what would have been given out at the highest rate ever seen. */
  readonly factor: number;
}

export const DEFAULT_JUMP: JumpRules = { minimum: 100_000, factor: 10 };

/** Indexes that are passed over, `to` excluded. `from` is where such begin that may have been given out unknown to the backup. */
export interface IndexJump {
  readonly family: Family;
  readonly from: number;
  readonly next: number;
}

/** BIP-32: below 2^31. */
const INDEX_END = 2 ** 31;
/** The api reserves some hundred in each process; those it had not used yet lie below what the sequence says. */
const RESERVED_BELOW = 10_000;
const HOUR_MS = 3_600_000;

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
  return FAMILIES.map((family) => {
    const { nextIndex, peakPerHour } = families[family];
    const next = nextIndex + Math.max(minimum, Math.ceil(factor * peakPerHour * hours));
    if (next >= INDEX_END)
      throw backupError(
        'RESTORE_FAILED',
        `${family} has no addresses left after a jump from ${nextIndex} to ${next}`,
      );
    return { family, from: Math.max(0, nextIndex - RESERVED_BELOW), next };
  });
}
