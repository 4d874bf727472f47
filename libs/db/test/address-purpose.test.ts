import { expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Db } from '../src/database.ts';
import { aCollection, anEvmAddress } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';

/* An address in both tables would allow a payout from a deposit address. */

const { admin, open } = await openTestDatabase();
const ops = open('ops');

const REFUSED = { code: 'DATABASE_CONSTRAINT' };

const asHotWallet = (db: Db, address: string) =>
  sql`insert into hot_wallet (family, address) values ('EVM', ${address})`.execute(db);
const asDeposit = (db: Db, address: string) => aCollection(db, { address });
const WRITERS = [
  ['a deposit address', 'a hot wallet', asDeposit, asHotWallet],
  ['a hot wallet', 'a deposit address', asHotWallet, asDeposit],
] as const;

async function tablesWith(address: string): Promise<number> {
  const { rows } = await sql`select 1 from hot_wallet where address = ${address}
    union all select 1 from deposit_address where address = ${address}`.execute(admin.kysely);
  return rows.length;
}

const untilOneWaits = () =>
  waitUntil('it waits for a lock', async () => {
    const { rows } = await sql`
      select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`.execute(
      admin.kysely,
    );
    return rows.length > 0;
  });

test('the ops role cannot insert a deposit address as a hot wallet', async () => {
  const address = anEvmAddress();
  await asDeposit(admin.kysely, address);
  await expect(asHotWallet(ops.kysely, address)).rejects.toMatchObject(REFUSED);
  expect(await tablesWith(address)).toBe(1);
  await sql`insert into hot_wallet (family, address) values ('TRON', ${address})`.execute(ops.kysely);
});

test('a hot wallet does not become a deposit address, by insert or update', async () => {
  const address = anEvmAddress();
  await asHotWallet(admin.kysely, address);
  await expect(asDeposit(admin.kysely, address)).rejects.toMatchObject(REFUSED);
  const other = await asDeposit(admin.kysely, anEvmAddress());
  const update = sql`update deposit_address set address = ${address} where order_pk = ${other.order_pk}`;
  await expect(update.execute(admin.kysely)).rejects.toMatchObject(REFUSED);
  expect(await tablesWith(address)).toBe(1);
});

test.each(WRITERS)('of two transactions at once keeps %s and refuses %s', async (_a, _b, one, two) => {
  const address = anEvmAddress();
  const second = await admin.kysely.transaction().execute(async (tx) => {
    await one(tx, address);
    const outcome = two(admin.kysely, address).then(
      () => 'WRITTEN' as const,
      (error: unknown) => error,
    );
    await untilOneWaits();
    return { outcome };
  });
  expect(await second.outcome).toMatchObject(REFUSED);
  expect(await tablesWith(address)).toBe(1);
});

test.each(WRITERS)('a snapshot from before %s cannot write %s', async (_a, _b, one, two) => {
  const address = anEvmAddress();
  const late = admin.kysely
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (tx) => {
      await sql`select 1`.execute(tx);
      await one(admin.kysely, address);
      await two(tx, address);
    });
  await expect(late).rejects.toMatchObject(REFUSED);
  expect(await tablesWith(address)).toBe(1);
});
