import { describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import {
  endSecretChange,
  listMerchants,
  rotateToken,
  rotateWebhookSecret,
  upsertMerchant,
} from '../src/merchants.ts';
import { openSecret, tokenAad, webhookSecretAad } from '../src/sealed-secret.ts';
import { TEST_SECRETS_KEY } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';

const KEY = TEST_SECRETS_KEY;
const { testDatabase, admin, open } = await openTestDatabase();
const ops = open('ops');
/** Reads columns that ops may write but not read. */

const stored = (merchantId: string) =>
  admin.kysely
    .selectFrom('merchant')
    .selectAll()
    .where('merchant_id', '=', merchantId)
    .executeTakeFirstOrThrow();
const tokenOf = async (id: string) => openSecret(KEY, (await stored(id)).token_sealed, tokenAad(id));
const secretOf = async (id: string) =>
  openSecret(KEY, (await stored(id)).webhook_secret_sealed, webhookSecretAad(id));
const shop = {
  merchantId: 'shop',
  name: 'Shop',
  version: 'V3',
  token: 'first-token-0123456789-0123456789',
  webhookSecret: 's1',
} as const;

test('creating a merchant sets defaults and seals its secrets', async () => {
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
  expect([await tokenOf('shop'), await secretOf('shop')]).toEqual([shop.token, 's1']);
  expect(row.token_sealed.includes(shop.token)).toBe(false);
  expect(() => openSecret(KEY, row.token_sealed, webhookSecretAad('shop'))).toThrow();
});

test('upserting a merchant again changes only the given fields', async () => {
  await upsertMerchant(ops.kysely, KEY, {
    ...shop,
    callbackUrl: 'https://shop.example/callbacks',
    returnOrigins: ['https://shop.example'],
    rateLimits: { createCollection: { points: 5 } },
    orderTtlSeconds: 600,
  });
  const before = await stored('shop');
  await upsertMerchant(ops.kysely, KEY, {
    ...shop,
    name: 'Shop two',
    token: 'second-token-0123456789-0123456789',
    callbackUrl: null,
  });
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
  expect(await tokenOf('shop')).toBe('second-token-0123456789-0123456789');
});

test('a rotation returns the new secret that it stores', async () => {
  await upsertMerchant(ops.kysely, KEY, { ...shop, merchantId: 'rotating' });
  const token = await rotateToken(ops.kysely, KEY, 'rotating');
  expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(await tokenOf('rotating')).toBe(token);
  expect(await secretOf('rotating')).toBe('s1');
  const { secret, switchAt } = await rotateWebhookSecret(ops.kysely, KEY, 'rotating');
  expect(switchAt).toBeNull();
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

describe('webhook secret change with an overlap', () => {
  const next = async (id: string) => {
    const { webhook_secret_next_sealed: sealed } = await stored(id);
    return sealed === null ? null : openSecret(KEY, sealed, webhookSecretAad(id));
  };
  const letOverlapPass = (id: string) =>
    sql`update merchant set webhook_secret_switch_at = now() where merchant_id = ${id}`.execute(ops.kysely);
  const aShop = async (merchantId: string) => upsertMerchant(ops.kysely, KEY, { ...shop, merchantId });

  test('the old secret is current until the switch, then the next one', async () => {
    await aShop('overlap');
    const first = await rotateWebhookSecret(ops.kysely, KEY, 'overlap', 3_600);
    expect(Math.round((first.switchAt!.getTime() - Date.now()) / 600_000)).toBe(6);
    expect([await secretOf('overlap'), await next('overlap')]).toEqual(['s1', first.secret]);
    await expect(rotateWebhookSecret(ops.kysely, KEY, 'overlap')).rejects.toMatchObject({
      code: 'SECRET_CHANGE_UNDER_WAY',
      retryable: false,
    });
    await letOverlapPass('overlap');
    const second = await rotateWebhookSecret(ops.kysely, KEY, 'overlap', 60);
    expect([await secretOf('overlap'), await next('overlap')]).toEqual([first.secret, second.secret]);
    await letOverlapPass('overlap');
    const third = await rotateWebhookSecret(ops.kysely, KEY, 'overlap');
    expect([await secretOf('overlap'), await next('overlap')]).toEqual([third.secret, null]);
  });

  test('a secret change can be finished or cancelled early, and only while one is open', async () => {
    await aShop('ending');
    const { secret } = await rotateWebhookSecret(ops.kysely, KEY, 'ending', 3_600);
    const listed = (await listMerchants(ops.kysely)).find((one) => one.merchantId === 'ending');
    expect(listed?.webhookSecretSwitchAt).toBeInstanceOf(Date);
    await endSecretChange(ops.kysely, 'ending', 'FINISH');
    expect([await secretOf('ending'), await next('ending')]).toEqual([secret, null]);
    await rotateWebhookSecret(ops.kysely, KEY, 'ending', 3_600);
    await endSecretChange(ops.kysely, 'ending', 'CANCEL');
    expect([await secretOf('ending'), await next('ending')]).toEqual([secret, null]);
    for (const how of ['FINISH', 'CANCEL'] as const) {
      await expect(endSecretChange(ops.kysely, 'ending', how)).rejects.toMatchObject({
        code: 'NO_SECRET_CHANGE',
      });
      await expect(endSecretChange(ops.kysely, 'nobody', how)).rejects.toMatchObject({
        code: 'MERCHANT_NOT_FOUND',
      });
    }
    await rotateWebhookSecret(ops.kysely, KEY, 'ending', 1);
    await letOverlapPass('ending'); // It is current now: cancelling would restore a secret that is no longer in use.
    await expect(endSecretChange(ops.kysely, 'ending', 'CANCEL')).rejects.toMatchObject({
      code: 'NO_SECRET_CHANGE',
    });
  });

  test('setting the secret ends an open secret change', async () => {
    await aShop('settings');
    await rotateWebhookSecret(ops.kysely, KEY, 'settings', 3_600);
    await upsertMerchant(ops.kysely, KEY, { ...shop, merchantId: 'settings', webhookSecret: 's2' });
    expect([await secretOf('settings'), await next('settings')]).toEqual(['s2', null]);
  });
});

test("setting the callback URL, also to the same one, resets the endpoint's failures", async () => {
  const set = { ...shop, merchantId: 'gone', callbackUrl: 'https://shop.example/' };
  await upsertMerchant(ops.kysely, KEY, set);
  const admin = testDatabase.open('admin');
  const disable = () =>
    sql`insert into callback_endpoint (merchant_id, state, disabled_at, disabled_reason) values ('gone', 'DISABLED', now(), '410')
      on conflict (merchant_id) do update set state = 'DISABLED', disabled_at = now(), disabled_reason = '410'`.execute(
      admin.kysely,
    );
  const listed = async () => (await listMerchants(ops.kysely)).find((one) => one.merchantId === 'gone');
  await disable();
  expect(await listed()).toMatchObject({ endpointState: 'DISABLED', disabledReason: '410' });
  await ops.kysely.updateTable('merchant').set({ name: 'Gone' }).where('merchant_id', '=', 'gone').execute();
  expect(await listed()).toMatchObject({ endpointState: 'DISABLED', endpointSince: expect.any(Date) });
  await upsertMerchant(ops.kysely, KEY, set);
  expect(await listed()).toMatchObject({
    endpointState: 'CLOSED',
    endpointSince: null,
    disabledReason: null,
  });
  await disable();
  await sql`select reset_callback_endpoint('gone')`.execute(ops.kysely);
  const endpoint = await ops.kysely
    .selectFrom('callback_endpoint')
    .selectAll()
    .where('merchant_id', '=', 'gone')
    .executeTakeFirstOrThrow();
  expect(endpoint).toMatchObject({ state: 'CLOSED', generation: 2, disabled_at: null });
  await admin.close();
});

test('the list of merchants contains no secrets', async () => {
  const merchants = await listMerchants(ops.kysely);
  expect(merchants.map((merchant) => merchant.merchantId)).toEqual([
    'ending',
    'gone',
    'overlap',
    'rotating',
    'settings',
    'shop',
  ]);
  expect(Object.keys(merchants[0]!).sort()).toEqual([
    'callbackUrl',
    'createdAt',
    'disabledReason',
    'enabled',
    'endpointSince',
    'endpointState',
    'merchantId',
    'name',
    'updatedAt',
    'version',
    'webhookSecretSwitchAt',
  ]);
});

test('refuses a merchant token of less than 32 characters', async () => {
  for (const token of ['x', 'x'.repeat(31)])
    await expect(
      upsertMerchant(ops.kysely, KEY, { ...shop, merchantId: 'short', token }),
    ).rejects.toMatchObject({
      code: 'MERCHANT_TOKEN_SHORT',
      message: expect.stringContaining(`${token.length} characters; at least 32 are required`),
    });
});
