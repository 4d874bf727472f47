import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';

export type PauseTable = 'chain_pause' | 'sweep_pause';

const PAUSE = ['chain', 'operator', 'reason', 'paused_at as pausedAt'] as const;

export async function readPauses(db: Db, table: PauseTable) {
  return db.selectFrom(table).select(PAUSE).execute();
}
export type PauseRow = Awaited<ReturnType<typeof readPauses>>[number];

/** Undefined if the chain is already paused. */
export async function insertPause(
  db: Db,
  table: PauseTable,
  pause: { chain: Chain; operator: string; reason: string },
): Promise<PauseRow | undefined> {
  return db
    .insertInto(table)
    .values(pause)
    .onConflict((conflict) => conflict.doNothing())
    .returning(PAUSE)
    .executeTakeFirst();
}

export async function deletePause(db: Db, table: PauseTable, chain: Chain): Promise<boolean> {
  const rows = await db.deleteFrom(table).where('chain', '=', chain).returning('chain').execute();
  return rows.length > 0;
}
