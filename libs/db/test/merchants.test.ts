import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Database } from '@opentill/db/database';
import { listMerchants, rotateToken, rotateWebhookSecret, upsertMerchant } from '@opentill/db/merchants';
import { openSecret, tokenAad, webhookSecretAad } from '@opentill/db/sealed-secret';
import { TEST_SECRETS_KEY } from '@opentill/testkit/scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';

const KEY = TEST_SECRETS_KEY;
let testDatabase: TestDatabase;
let ops: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  ops = testDatabase.open('ops');
});
afterAll(async () => {
  await ops.close();
  await testDatabase.drop();
});

const stored = (merchantId: string) =>
  ops.kysely
    .selectFrom('merchant')
    .selectAll()
    .where('merchant_id', '=', merchantId)
    .executeTakeFirstOrThrow();
const tokenOf = async (id: string) => openSecret(KEY, (await stored(id)).token_sealed, tokenAad(id));
const secretOf = async (id: string) =>
  openSecret(KEY, (await stored(id)).webhook_secret_sealed, webhookSecretAad(id));
const shop = { merchantId: 'shop', name: 'Shop', version: 'V3', token: 't1', webhookSecret: 's1' } as const;

test('a merchant is created with defaults and sealed secrets', async () => {
  await upsertMerchant(ops.kysely, KEY, shop);
  const row = await stored('shop');
  expect(row).toMatchObject({
    version: 'V3',
    sign_version: 1,
    callback_url: null,
    return_origins: [],
    order_ttl_seconds: 1800,
    rate_limits: {},
    enabled: true,
  });
  expect([await tokenOf('shop'), await secretOf('shop')]).toEqual(['t1', 's1']);
  expect(row.token_sealed.includes('t1')).toBe(false);
  expect(() => openSecret(KEY, row.token_sealed, webhookSecretAad('shop'))).toThrow();
});

test('a second time changes what is given and keeps what is not', async () => {
  await upsertMerchant(ops.kysely, KEY, {
    ...shop,
    callbackUrl: 'https://shop.example/callbacks',
    returnOrigins: ['https://shop.example'],
    rateLimits: { createCollection: { points: 5 } },
    orderTtlSeconds: 600,
  });
  const before = await stored('shop');
  await upsertMerchant(ops.kysely, KEY, { ...shop, name: 'Shop two', token: 't2', callbackUrl: null });
  const after = await stored('shop');
  expect(after).toMatchObject({
    name: 'Shop two',
    callback_url: null,
    return_origins: ['https://shop.example'],
    order_ttl_seconds: 600,
    rate_limits: { createCollection: { points: 5 } },
    created_at: before.created_at,
  });
  expect(after.updated_at.getTime()).toBeGreaterThan(before.updated_at.getTime());
  expect(await tokenOf('shop')).toBe('t2');
});

test('rotation gives a new secret, which is the one stored', async () => {
  await upsertMerchant(ops.kysely, KEY, { ...shop, merchantId: 'rotating' });
  const token = await rotateToken(ops.kysely, KEY, 'rotating');
  expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(await tokenOf('rotating')).toBe(token);
  expect(await secretOf('rotating')).toBe('s1');
  const secret = await rotateWebhookSecret(ops.kysely, KEY, 'rotating');
  expect(await secretOf('rotating')).toBe(secret);
  expect(await tokenOf('rotating')).toBe(token);
  await expect(rotateToken(ops.kysely, KEY, 'nobody')).rejects.toMatchObject({
    code: 'MERCHANT_NOT_FOUND',
    retryable: false,
  });
  await expect(rotateWebhookSecret(ops.kysely, KEY, 'nobody')).rejects.toMatchObject({
    code: 'MERCHANT_NOT_FOUND',
  });
});

test('the list has no secrets', async () => {
  const merchants = await listMerchants(ops.kysely);
  expect(merchants.map((merchant) => merchant.merchantId)).toEqual(['rotating', 'shop']);
  expect(Object.keys(merchants[0]!).sort()).toEqual([
    'callbackUrl',
    'createdAt',
    'enabled',
    'merchantId',
    'name',
    'updatedAt',
    'version',
  ]);
});
