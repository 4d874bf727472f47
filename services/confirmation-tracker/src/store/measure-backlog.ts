import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';

/** A large table causes no long query: 15 ms for 20,000 rows that are all settled. */
const NEWEST_ROWS = 20_000;

export type OldestDue = Readonly<Record<'transfers' | 'outcomes', number>>;

/** Waiting time of the oldest unsettled row among the newest ones; 0 without any. */
export async function oldestDueSeconds(db: Db, newestRows = NEWEST_ROWS): Promise<OldestDue> {
  const { rows } = await sql<OldestDue>`
    select (
      select coalesce(max(extract(epoch from now() - t.updated_at)), 0)::float8
      from (select transfer_id, version, updated_at from transfer order by updated_at desc limit ${newestRows}) t
        left join transfer_settlement s using (transfer_id)
      where s.settled_version is distinct from t.version
    ) as transfers, (
      select coalesce(max(extract(epoch from now() - f.updated_at)), 0)::float8
      from (select chain, tx_hash, version, updated_at from own_transaction_fate
          order by updated_at desc limit ${newestRows}) f
        left join own_transaction_settlement s on s.chain = f.chain and s.tx_hash = f.tx_hash
      where s.settled_version is distinct from f.version
    ) as outcomes`.execute(db);
  return rows[0] ?? { transfers: 0, outcomes: 0 };
}

/** At most 1,000. */
export async function openIncidents(
  db: Db,
): Promise<readonly { readonly chain: string; readonly kind: string; readonly count: number }[]> {
  const { rows } = await sql<{ chain: string; kind: string; count: number }>`
    select chain, kind, count(*) from (select chain, kind from incident where closed_at is null limit 1000) open
    group by 1, 2`.execute(db);
  return rows;
}
