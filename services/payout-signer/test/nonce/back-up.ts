import { sql } from 'kysely';
import type { SignerWorld } from './signer-world.ts';

/** What the signer knows of its wallets, in an order in which rows may be inserted. */
const TABLES = [
  'payout',
  'wallet_nonce',
  'own_transaction',
  'own_transaction_fate',
  'wallet_halt',
  'payout_decision',
] as const;

/** Copies what the signer knows. @returns brings it back, as a database would that lost all commits since */
export async function backUp({ admin }: SignerWorld): Promise<() => Promise<void>> {
  await sql`drop schema if exists backup cascade`.execute(admin);
  await sql`create schema backup`.execute(admin);
  for (const table of TABLES)
    await sql`create table backup.${sql.id(table)} as table ${sql.id(table)}`.execute(admin);
  return () =>
    admin.transaction().execute(async (tx) => {
      // A restore asks no trigger.
      await sql`set local session_replication_role = replica`.execute(tx);
      for (const table of TABLES) {
        const rows = table === 'payout' ? sql`where order_pk in (select order_pk from backup.payout)` : sql``;
        await sql`delete from ${sql.id(table)} ${rows}`.execute(tx);
        await sql`insert into ${sql.id(table)} select * from backup.${sql.id(table)}`.execute(tx);
      }
    });
}
