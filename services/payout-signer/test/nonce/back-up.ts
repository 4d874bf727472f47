import { sql } from 'kysely';
import type { SignerWorld } from './signer-world.ts';

const TABLES = [
  'payout',
  'wallet_nonce',
  'own_transaction',
  'own_transaction_fate',
  'wallet_halt',
  'payout_decision',
] as const;

/** Returns a function that restores the tables, as if the database lost all later commits. */
export async function backUp({ admin }: SignerWorld): Promise<() => Promise<void>> {
  await sql`drop schema if exists backup cascade`.execute(admin);
  await sql`create schema backup`.execute(admin);
  for (const table of TABLES)
    await sql`create table backup.${sql.id(table)} as table ${sql.id(table)}`.execute(admin);
  return () =>
    admin.transaction().execute(async (tx) => {
      await sql`set local session_replication_role = replica`.execute(tx);
      for (const table of TABLES) {
        const rows = table === 'payout' ? sql`where order_pk in (select order_pk from backup.payout)` : sql``;
        await sql`delete from ${sql.id(table)} ${rows}`.execute(tx);
        await sql`insert into ${sql.id(table)} select * from backup.${sql.id(table)}`.execute(tx);
      }
    });
}
