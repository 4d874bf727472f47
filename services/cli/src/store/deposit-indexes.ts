import type { Db } from '@opentill/db/database';
import type { Family } from '@opentill/domain/chains';
import { sql } from 'kysely';

export async function readNextIndexes(db: Db): Promise<ReadonlyMap<Family, number>> {
  const { rows } = await sql<{ family: Family; next: number }>`
    select family, (max(derivation_index) + 1)::float8 as next from deposit_address group by family`.execute(
    db,
  );
  return new Map(rows.map(({ family, next }) => [family, next]));
}

export interface SkippedIndexes {
  readonly family: Family;
  readonly from: number;
  readonly to: number;
  /** Certainly not assigned before the backup. */
  readonly next: number;
}

export async function readSkippedIndexes(db: Db): Promise<readonly SkippedIndexes[]> {
  const { rows } = await sql<SkippedIndexes>`
    select s.family, s.from_index as "from", s.to_index as "to", coalesce((
        select max(d.derivation_index) + 1 from deposit_address d where d.family = s.family and d.derivation_index < s.to_index
      ), s.from_index) as next
    from skipped_index s order by s.family, s.from_index`.execute(db);
  return rows;
}

/** `to` is exclusive. */
export async function readKnownIndexes(
  db: Db,
  family: Family,
  from: number,
  to: number,
): Promise<ReadonlySet<number>> {
  const { rows } = await sql<{ index: number }>`
    select derivation_index as index from deposit_address
    where family = ${family} and derivation_index >= ${from} and derivation_index < ${to}`.execute(db);
  return new Set(rows.map(({ index }) => index));
}
