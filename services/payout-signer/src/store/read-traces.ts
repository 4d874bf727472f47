import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';

export async function readTraces(db: Db, orderPks: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (orderPks.length === 0) return new Map();
  const { rows } = await sql<{ order_pk: string; traceparent: string }>`
    select order_pk, traceparent from orders
    where order_pk = any(${orderPks}::uuid[]) and traceparent is not null`.execute(db);
  return new Map(rows.map((row) => [row.order_pk, row.traceparent]));
}
