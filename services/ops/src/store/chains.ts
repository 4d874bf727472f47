import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { ServiceSchema } from '@opentill/db/service-schema';
import type { Chain } from '@opentill/domain/chains';

/** Computes ages by the database's clock. */
export async function readCursors(db: Db) {
  return db
    .selectFrom('chain_cursor')
    .select([
      'chain',
      'head_height as headHeight',
      'head_time as headTime',
      'finalized_height as finalizedHeight',
      'seen_height as seenHeight',
      'verified_height as verifiedHeight',
      'verified_time as verifiedTime',
      'updated_at as updatedAt',
      sql<number>`extract(epoch from clock_timestamp() - updated_at)::float8`.as('ageSeconds'),
    ])
    .execute();
}
export type CursorRow = Awaited<ReturnType<typeof readCursors>>[number];

export interface LeaseRow {
  readonly name: string;
  readonly holder: string;
  readonly until: Date;
  readonly expired: boolean;
}

export async function readLeases(
  db: Db,
  schema: ServiceSchema,
  prefix: string,
): Promise<readonly LeaseRow[]> {
  const { rows } = await sql<LeaseRow>`
    select name, holder, expires_at as until, expires_at <= now() as expired
    from ${sql.table(`${schema}.lease`)} where starts_with(name, ${prefix}) order by name limit 500`.execute(
    db,
  );
  return rows;
}

const RESCAN = [
  'request_id as requestId',
  'chain',
  'from_height as fromHeight',
  'to_height as toHeight',
  'next_height as nextHeight',
  'requested_at as requestedAt',
  'done_at as doneAt',
  'found',
] as const;

export async function findRescans(
  db: Db,
  chain: Chain | undefined,
  after: string | undefined,
  limit: number,
) {
  let query = db.selectFrom('rescan_request').select(RESCAN).orderBy('request_id', 'desc').limit(limit);
  if (after !== undefined) query = query.where('request_id', '<', Number(after));
  if (chain !== undefined) query = query.where('chain', '=', chain);
  return query.execute();
}
export type RescanRow = Awaited<ReturnType<typeof findRescans>>[number];

export async function readRescan(db: Db, requestId: number): Promise<RescanRow | undefined> {
  return db
    .selectFrom('rescan_request')
    .select(RESCAN)
    .where('request_id', '=', requestId)
    .executeTakeFirst();
}

export async function insertRescan(
  db: Db,
  range: { chain: Chain; fromHeight: number; toHeight: number },
): Promise<RescanRow> {
  return db
    .insertInto('rescan_request')
    .values({ chain: range.chain, from_height: range.fromHeight, to_height: range.toHeight })
    .returning(RESCAN)
    .executeTakeFirstOrThrow();
}

export async function countOpenRescans(db: Db): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ chain: string; waiting: number }>`
    select chain, count(*)::int as waiting from rescan_request where done_at is null group by chain`.execute(
    db,
  );
  return new Map(rows.map((row) => [row.chain, row.waiting]));
}
