import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Database } from '@opentill/db/database';
import { anEvmAddress } from '@opentill/testkit/scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { createSweepStore } from '../../src/sweeps/store/create-store.ts';

const CHAIN = 'TRON_TEST';

let database: TestDatabase;
let [admin, signer]: Database[] = [];
beforeAll(async () => {
  database = await createTestDatabase();
  [admin, signer] = [database.open('admin'), database.open('signer')];
});
afterAll(async () => {
  await admin!.close();
  await signer!.close();
  await database.drop();
});
afterEach(async () => {
  await sql`delete from sweep`.execute(admin!.kysely);
});

const suspended = async () => {
  const store = createSweepStore(signer!.kysely, CHAIN, { newId: () => '', nativeSymbol: 'TRX' });
  return [...(await store.readView(undefined)).suspendedMethods];
};

async function aSweep(method: string, reason: string | null, minutesAgo: number): Promise<void> {
  const isOpen = reason === null;
  await sql`insert into sweep (sweep_id, chain, family, address, symbol, amount, destination, destination_kind, method, cost_estimate, state,
      reason, ended_at, rent_cost, rent_ordered_at)
    values (gen_random_uuid(), ${CHAIN}, 'TRON', ${anEvmAddress()}, 'USDT', 1, 'cold', 'COLD', ${method}, 1, ${isOpen ? 'OPEN' : 'ABANDONED'},
      ${reason}, case when ${isOpen} then null else now() - ${minutesAgo} * interval '1 minute' end, ${isOpen ? 1 : null},
      case when ${isOpen} then now() - ${minutesAgo} * interval '1 minute' end)`.execute(admin!.kysely);
}

test.each([
  ['RENT', 'energy was not there'],
  ['STAKE', 'energy was not there'],
  ['RENT', 'the seller of energy refused'],
  ['RENT', 'energy got dearer'],
])('suspends %s for an hour after the reason "%s"', async (method, reason) => {
  await aSweep(method, reason, 61);
  expect(await suspended()).toEqual([]);
  await aSweep(method, reason, 59);
  expect(await suspended()).toEqual([method]);
});

test('suspends a seller while its delivery is late', async () => {
  await aSweep('RENT', null, 2);
  expect(await suspended()).toEqual([]);
  await aSweep('RENT', null, 4);
  expect(await suspended()).toEqual(['RENT']);
});

test('suspends a seller during a restore and an hour after: orders are unknown', async () => {
  const db = admin!.kysely;
  const restoreId = crypto.randomUUID();
  await sql`insert into restoration (restore_id, backup_id, taken_at) values (${restoreId}, 'backup', now())`.execute(
    db,
  );
  await sql`insert into restore_hold (restore_id, chain, wallet, from_height) values (${restoreId}, ${CHAIN}, 'hot', 1)`.execute(
    db,
  );
  expect(await suspended()).toEqual(['RENT']);
  const releasedAgo = (minutes: number) =>
    sql`update restore_hold set released_at = now() - ${minutes} * interval '1 minute', released_by = 'test', released_reason = 'done'`.execute(
      db,
    );
  await releasedAgo(59);
  expect(await suspended()).toEqual(['RENT']);
  await releasedAgo(61);
  expect(await suspended()).toEqual([]);
});
