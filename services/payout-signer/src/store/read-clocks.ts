import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import type { Clock } from '@opentill/runtime/clock';

export async function readTimes(db: Db, chain: Chain, clock: Clock) {
  const fromMs = clock.now().getTime();
  const { rows } = await sql<{ now: Date; seen: Date | null; verified: Date | null }>`
    select clock_timestamp() as now, c.verified_time as verified,
      (select b.block_time from block b where b.chain = c.chain and b.height = c.seen_height) as seen
    from (select) one left join chain_cursor c on c.chain = ${chain}`.execute(db);
  const toMs = clock.now().getTime();
  const [row] = rows;
  if (row === undefined) throw new Error('the clock query returned no row');
  const verifiedMs = row.verified?.getTime();
  return {
    databaseMs: row.now.getTime(),
    own: { fromMs, toMs },
    chain: verifiedMs === undefined ? null : { verifiedMs, seenMs: row.seen?.getTime() ?? verifiedMs },
  };
}
