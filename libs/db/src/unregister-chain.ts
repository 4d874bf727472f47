import { sql } from 'kysely';
import type { Chain } from '@opentill/domain/chains';
import type { Db, Tx } from './database.ts';
import { writeAuditOfDatabaseUser } from './operators.ts';

export type Unregistration =
  | { readonly kind: 'UNREGISTERED'; readonly chainId: number }
  | { readonly kind: 'UNKNOWN' }
  /** A scanner holds the chain's lease, so its first block may come at any time. */
  | { readonly kind: 'SCANNED'; readonly holder: string }
  /** Tables with rows of the chain. */
  | { readonly kind: 'USED'; readonly tables: readonly string[] };

/** States of services are no use of the chain: those that leave it out write them too. */
const NO_USE = ['chain_family', 'chain_status'];

/**
 * Removes an EVM chain that no block, order, payout or other row refers to, so that setup can register it with another
 * identity. As the owner of the database.
 */
export async function unregisterChain(db: Db, chain: Chain, reason: string): Promise<Unregistration> {
  return db.transaction().execute(async (tx) => {
    await sql`lock table chain_cursor in share row exclusive mode`.execute(tx); // scanners write it with each block
    const { rows } = await sql<{ chainId: bigint; kind: string }>`
      select chain_id as "chainId", kind from chain_family
      where chain = ${chain} and chain_id is not null for update`.execute(tx);
    const [known] = rows;
    if (known === undefined) return { kind: 'UNKNOWN' };
    const leases = await sql<{ holder: string }>`
      select holder from scanner_evm.lease where name = ${`chain:${chain}`} and expires_at > now()`.execute(
      tx,
    );
    const [lease] = leases.rows;
    if (lease !== undefined) return { kind: 'SCANNED', holder: lease.holder };
    const tables = await tablesOf(tx, chain);
    if (tables.length > 0) return { kind: 'USED', tables };
    await sql`delete from chain_status where chain = ${chain}`.execute(tx);
    await sql`delete from chain_family where chain = ${chain}`.execute(tx);
    const chainId = Number(known.chainId);
    const details = { chainId, kind: known.kind, reason };
    await writeAuditOfDatabaseUser(tx, { action: 'unregisterChain', subject: chain, details });
    return { kind: 'UNREGISTERED', chainId };
  });
}

/** Found by their column, so that a later table counts as well. */
async function tablesOf(tx: Tx, chain: Chain): Promise<readonly string[]> {
  const { rows } = await sql<{ schema: string; name: string }>`
    select n.nspname as schema, c.relname as name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
    where a.attname = 'chain' and not a.attisdropped and c.relkind in ('r', 'p') and not c.relispartition
      and n.nspname not in ('pg_catalog', 'information_schema') and c.relname <> all(${NO_USE}::text[])
    order by 1, 2`.execute(tx);
  const used: string[] = [];
  for (const { schema, name } of rows) {
    const found =
      await sql`select from ${sql.table(`${schema}.${name}`)} where chain = ${chain} limit 1`.execute(tx);
    if (found.rows.length > 0) used.push(name);
  }
  return used;
}
