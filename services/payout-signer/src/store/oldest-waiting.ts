import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';

/** Seconds since the oldest payout was requested that is not signed yet. Chains without one are left out. */
export async function oldestWaitingSeconds(db: Db): Promise<ReadonlyMap<Chain, number>> {
  const { rows } = await sql<{ chain: Chain; seconds: number }>`
    select chain, extract(epoch from now() - min(requested_at))::float8 as seconds from payout
    where state in ('REQUESTED', 'AUTHORISED') group by chain`.execute(db);
  return new Map(rows.map(({ chain, seconds }) => [chain, seconds]));
}
