import { beforeAll, expect, it } from 'vitest';
import { sql } from 'kysely';
import { aMerchant } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createStore } from '../src/store/create-store.ts';
import { startTestApi } from './support/test-api.ts';

const { testDatabase, admin } = await openTestDatabase();
beforeAll(async () => {
  await aMerchant(admin.kysely, { merchantId: 'shop', token: 'token-of-shop-0123456789-0123456789' });
});

/** `spent` expired nonces and counters, and one of each that is still needed. */
async function given(spent: number): Promise<void> {
  await sql`
    insert into request_nonce (merchant_id, nonce, expires_at)
    select 'shop', 'spent-' || n, now() - interval '1 second' from generate_series(1, ${spent}::int) n
    union all select 'shop', 'needed', now() + interval '5 minutes'
    on conflict do nothing`.execute(admin.kysely);
  await sql`
    insert into rate_counter (key, points, expire)
    select 'spent-' || n, 1, extract(epoch from now() - interval '2 hours') * 1000 from generate_series(1, ${spent}::int) n
    union all select 'needed', 1, extract(epoch from now()) * 1000
    on conflict do nothing`.execute(admin.kysely);
}

async function left(): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select nonce as name from request_nonce union all select key from rate_counter`.execute(admin.kysely);
  return rows.map((row) => row.name).toSorted();
}

it('deletes expired rows in bounded steps and keeps the needed ones', async () => {
  await given(5);
  const api = testDatabase.open('api');
  const store = createStore(api.kysely, []);
  expect(await store.deleteExpired(3)).toBe('again');
  expect(await left()).toHaveLength(2 * (5 - 3 + 1));
  expect(await store.deleteExpired(3)).toBeUndefined();
  expect(await left()).toEqual(['needed', 'needed']);
  await api.close();
});

it('runs in the background', async () => {
  await given(5);
  const api = await startTestApi(testDatabase, {
    merchant: { token: 'token-of-shop-0123456789-0123456789' },
  });
  await waitUntil('the expired rows are gone', async () => (await left()).every((name) => name === 'needed'));
  await api.stop();
});
