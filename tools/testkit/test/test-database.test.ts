import { afterEach, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { SERVICE_ROLES, serviceRole } from '@opentill/db/service-schema';
import { aChainCursor, aCollection, aHotWallet, aMerchant, aPayout, aTransfer } from '../src/scenario.ts';
import { createTestDatabase, type TestDatabase } from '../src/test-database.ts';

const made: TestDatabase[] = [];
async function make(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  made.push(database);
  return database;
}
afterEach(async () => {
  await Promise.all(made.splice(0).map((database) => database.drop()));
});

describe('a test database', () => {
  test('creates a migrated, empty and separate database', async () => {
    const [one, two] = await Promise.all([make(), make()]);
    const [a, b] = [one.open('admin'), two.open('admin')];
    await aMerchant(a.kysely);
    const count = (database: typeof a) =>
      database.kysely
        .selectFrom('merchant')
        .select(sql<number>`count(*)`.as('n'))
        .executeTakeFirstOrThrow();
    expect([await count(a), await count(b)]).toEqual([{ n: 1 }, { n: 0 }]);
    await Promise.all([a.close(), b.close()]);
  });

  test('opens a database as any service, without the right to temporary tables', async () => {
    const database = await make();
    for (const schema of SERVICE_ROLES) {
      const opened = database.open(schema);
      const { rows } = await sql`select current_user as me,
        has_database_privilege(current_database(), 'temporary') as temporary`.execute(opened.kysely);
      expect(rows).toEqual([{ me: serviceRole(schema), temporary: false }]);
      await opened.close();
    }
  });

  test('drops a database and reports a pool that was left open', async () => {
    const database = await createTestDatabase();
    const leaked = database.open('tracker');
    await sql`select 42 as leaked`.execute(leaked.kysely);
    await expect(database.drop(0)).rejects.toThrow(
      /left open.*test tracker as opentill_tracker.*select 42 as leaked/,
    );
    await expect(sql`select 1`.execute(database.open('admin').kysely)).rejects.toMatchObject({
      code: 'DATABASE_QUERY_FAILED',
    });
    await leaked.close();
  });
});

test('the scenario helpers match the schema', async () => {
  const database = await make();
  const admin = database.open('admin');
  const merchant = await aMerchant(admin.kysely, { version: 'V2' });
  const order = await aCollection(admin.kysely, { merchant_id: merchant.merchantId, amount: 5n });
  const transfer = await aTransfer(admin.kysely, order, { state: 'VERIFIED' });
  expect(transfer).toMatchObject({
    amount: 5n,
    to_address: order.address,
    chain: order.chain,
    state: 'VERIFIED',
  });
  await aChainCursor(admin.kysely);
  expect(await aChainCursor(admin.kysely, { head_height: 101 })).toMatchObject({
    head_height: 101,
    chain: 'ETH_SEPOLIA',
  });
  await aHotWallet(admin.kysely, { amount: 7n });
  const payout = await aPayout(admin.kysely, { amount: 7n });
  const { rows } = await sql`select reserve(${payout.order_pk}) as reserved`.execute(admin.kysely);
  expect(rows).toEqual([{ reserved: true }]);
  await admin.close();
});
