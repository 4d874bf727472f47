import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { signPaymentLink } from '@opentill/contracts/signing/verify-signature';
import type { MerchantSettings } from '@opentill/db/merchants';
import { anOption, anOrderWithOptions, choose as chooseInDatabase } from '@opentill/testkit/order-options';
import { aChainCursor, aMerchant, aRate, aTransfer } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { watching } from '../src/store/watch-orders.ts';
import {
  anOrderId,
  COLLECTION,
  NO_LIMITS,
  startTestApi,
  STRANGER,
  TEST_NETWORKS,
  type TestApi,
} from './support/test-api.ts';

const { testDatabase, admin } = await openTestDatabase();
let api: TestApi;
let merchant: MerchantSettings;

beforeAll(async () => {
  merchant = await aMerchant(admin.kysely, { merchantId: 'shop', rateLimits: NO_LIMITS, markupBps: 0 });
  await aChainCursor(admin.kysely, { chain: 'ETH_SEPOLIA' });
  await aChainCursor(admin.kysely, { chain: 'BSC_TEST' });
  api = await startTestApi(testDatabase, { merchant });
});
afterAll(() => api.stop());
beforeEach(async () => {
  await aRate(admin.kysely, { symbol: 'USDT', rate: '0.920500000000' });
  await aRate(admin.kysely, { symbol: 'USDC', rate: '0.919600000000' });
});

const USDT = { chain: 'ETH_SEPOLIA', symbol: 'USDT' };
const USDC = { chain: 'ETH_SEPOLIA', symbol: 'USDC' };
const BSC = { chain: 'BSC_TEST', symbol: 'USDT' };

const priced = (overrides: Record<string, unknown> = {}) => ({
  price: '49.90',
  currency: 'EUR',
  orderId: anOrderId(),
  ...overrides,
});
const create = (data: object) => api.post(COLLECTION, data, { merchant });

async function aPricedOrder(overrides: Record<string, unknown> = {}): Promise<string> {
  const data = priced(overrides);
  expect(await create(data)).toMatchObject({ code: 200, data: { chosen: false } });
  return data.orderId;
}

const choose = (
  orderId: string,
  coin: unknown,
  sign = signPaymentLink(merchant.token, orderId),
  asked = api,
) =>
  asked.request('POST', `/v1/order/choose?orderId=${orderId}&sign=${sign}.shop`, {
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(coin),
  });

async function rowOf(orderId: string) {
  return admin.kysely
    .selectFrom('orders')
    .selectAll()
    .where('order_id', '=', orderId)
    .executeTakeFirstOrThrow();
}

const addressesOf = async (orderId: string) =>
  (
    await admin.kysely
      .selectFrom('deposit_address')
      .select('address')
      .where('order_pk', '=', (await rowOf(orderId)).order_pk)
      .execute()
  ).map(({ address }) => address);

describe('createCollection with a price and no coin', () => {
  test('answers with the options that have a rate, limits and a ready chain', async () => {
    const data = priced();
    const answer = await create(data);
    expect(answer).toMatchObject({
      code: 200,
      data: {
        address: null,
        amount: '54.21',
        chain: 'ETH_SEPOLIA',
        symbol: 'USDT',
        currency: 'EUR',
        price: '49.90',
        rate: '0.9205',
        chosen: false,
      },
    });
    // POLYGON_AMOY has no cursor, and ETH is not enabled.
    expect(answer.data.options).toMatchObject([
      {
        ...USDT,
        amount: '54.21',
        rate: '0.9205',
        feeClass: 'HIGH',
        requiredConfirmations: 3,
        expectedSeconds: 3,
      },
      { ...USDC, amount: '54.27', rate: '0.9196', feeClass: 'HIGH', chosen: false },
      { ...BSC, amount: '54.21', feeClass: 'LOW', chainId: 97, isTestNetwork: true },
    ]);
    expect(await rowOf(data.orderId)).toMatchObject({
      address: null,
      choices: 0,
      accepted_amount: 10n ** 40n,
      status: 'INIT',
    });
    expect(await addressesOf(data.orderId)).toEqual([]);
    const { data: notice } = await admin.kysely
      .selectFrom('notification')
      .select('data')
      .where('subject_id', '=', (await rowOf(data.orderId)).order_pk)
      .executeTakeFirstOrThrow();
    expect(JSON.parse(notice)).toMatchObject({ ...USDT, chosen: false, status: 'INIT', actualAmount: null });
    expect(await create(data)).toMatchObject({ code: 200, data: answer.data });
  });

  test('takes only accepted coins, and is equal to the same request only', async () => {
    const disabled = { chain: 'ETH', symbol: 'USDT' };
    const data = priced({ accept: [disabled, { chain: 'BSC_TEST', symbol: 'usdt' }, USDC, USDC] });
    const answer = await create(data);
    expect(answer.data.options).toMatchObject([BSC, USDC]);
    expect(await create({ ...data, accept: [USDC, USDT, BSC] })).toMatchObject({
      code: 200,
      data: answer.data,
    });
    expect(await create({ ...data, accept: [USDC, USDT] })).toMatchObject({
      code: 409,
      detail: 'orderId: exists with accept USDT on BSC_TEST and USDC on ETH_SEPOLIA',
    });
    expect(await create({ ...data, ...USDC })).toMatchObject({ code: 409 });
    expect(await create({ ...data, price: '49.91' })).toMatchObject({ code: 409 });
  });

  test.each([
    ['one accepted coin', { accept: [USDC] }, USDC, '54.27'],
    ['a coin and an accept that it makes void', { ...USDC, accept: [USDT, BSC] }, USDC, '54.27'],
  ])('makes an ordinary order of %s', async (_, fields, coin, amount) => {
    const data = priced(fields);
    const answer = await create(data);
    expect(answer).toMatchObject({ code: 200, data: { ...coin, amount, address: expect.any(String) } });
    for (const member of ['options', 'chosen']) expect(answer.data).not.toHaveProperty(member);
    expect(await rowOf(data.orderId)).toMatchObject({ choices: null });
    expect(await create(data)).toMatchObject({ code: 200, data: answer.data });
    expect((await api.signedGet('pay', data.orderId, merchant)).data).not.toHaveProperty('options');
    expect(await choose(data.orderId, coin)).toMatchObject({
      code: 200,
      data: { address: answer.data.address },
    });
    expect(await choose(data.orderId, BSC)).toMatchObject({
      code: 400,
      detail: `chain, symbol: the order accepts USDC on ETH_SEPOLIA`,
    });
  });

  test('leaves out coins without a rate, and rejects when none is left', async () => {
    await sql`update current_rate set rate_id = null, refusal = 'DEPEGGED' where symbol = 'USDT'`.execute(
      admin.kysely,
    );
    expect((await create(priced())).data).toMatchObject(USDC);
    await sql`update current_rate set rate_id = null, refusal = 'DEPEGGED'`.execute(admin.kysely);
    expect(await create(priced())).toMatchObject({
      code: 422,
      detail: 'currency: no rate of USDT in EUR now: the coin is off its peg; repeat the request later',
    });
  });

  test.each([
    [{ accept: [] }, 'The accept is invalid.'],
    [{ accept: 'USDT' }, 'The accept is invalid.'],
    [{ accept: [USDT, { symbol: 'USDC' }] }, 'The accept is invalid.'],
    [{ accept: Array(51).fill(USDT) }, 'The accept is invalid.'],
    [{ accept: [{ chain: 'ETH', symbol: 'USDT' }] }, 'Unsupported symbol or chain'],
    [{ accept: [USDT, { ...BSC, symbol: 'OTHER' }] }, 'Unsupported symbol or chain'],
    [{ symbol: '', chain: '' }, 'The symbol cannot be left blank.'],
    [{ symbol: null, chain: null }, 'The symbol cannot be left blank.'],
    [{ chain: null }, 'The symbol cannot be left blank.'],
    [{ symbol: 'USDT' }, 'The chain cannot be left blank.'],
    [{ chain: 'ETH_SEPOLIA' }, 'The symbol cannot be left blank.'],
    [{ price: undefined, amount: '5' }, 'The symbol cannot be left blank.'],
    [{ price: '9999999999', accept: [USDT, BSC] }, 'The amount is out of range.'],
  ])('rejects %j: %s', async (change, msg) => {
    expect(await create(priced(change))).toMatchObject({ code: 400, msg });
  });
});

describe('POST /v1/order/choose', () => {
  test('gives the address, and the same one for every chain of the family', async () => {
    const orderId = await aPricedOrder();
    const first = await choose(orderId, USDC);
    expect(first).toMatchObject({
      code: 200,
      data: { ...USDC, amount: '54.27', rate: '0.9196', chosen: true, status: 'INIT', payments: [] },
    });
    expect(first.data.address).toMatch(/^0x[0-9a-fA-F]{40}$/);
    expect(first.data.options.map(({ chosen }: { chosen: boolean }) => chosen)).toEqual([false, true, false]);
    // The rate of the creation counts.
    await aRate(admin.kysely, { symbol: 'USDT', rate: '0.500000000000' });
    const second = await choose(orderId, { chain: 'BSC_TEST', symbol: 'usdt' });
    expect(second.data).toMatchObject({ ...BSC, amount: '54.21', address: first.data.address });
    expect((await choose(orderId, BSC)).data).toEqual({ ...second.data, serverTime: expect.any(Number) });
    expect(await addressesOf(orderId)).toHaveLength(1);
    expect((await api.signedGet('status', orderId, merchant)).data).toMatchObject({
      ...BSC,
      amount: '54.21',
      chosen: true,
    });
  });

  test('gives one address to tabs that choose at once, and one choice holds', async () => {
    const orderId = await aPricedOrder();
    const coins = [USDT, USDC, BSC, USDT, USDC, BSC];
    const answers = await Promise.all(coins.map((coin) => choose(orderId, coin)));
    expect(answers.map(({ code }) => code)).toEqual(coins.map(() => 200));
    const addresses = await addressesOf(orderId);
    expect(addresses).toHaveLength(1);
    const shown = new Set(answers.map(({ data }) => data.address.toLowerCase()));
    expect([...shown]).toEqual(addresses);
    expect(await rowOf(orderId)).toMatchObject({ choices: 3, address: addresses[0] });
  });

  test('shows what was paid in each coin, in the coin chosen now', async () => {
    const orderId = await aPricedOrder();
    await choose(orderId, USDC);
    const order = await rowOf(orderId);
    const at = { ...order, address: order.address ?? '' };
    const { tx_hash } = await aTransfer(admin.kysely, at, { amount: 20_000_000n, block_height: 99 });
    await aTransfer(admin.kysely, at, { amount: 1_000_000n, contract_address: STRANGER }); // also called USDC
    await sql`update orders set status = 'PENDING', detected_amount = (
      select in_time from collection_sum where order_pk = ${order.order_pk}) where order_pk = ${order.order_pk}`.execute(
      admin.kysely,
    );
    const { data } = await choose(orderId, BSC);
    // 20 / 54.27 of 54.21, rounded down.
    expect(data).toMatchObject({
      ...BSC,
      status: 'PENDING',
      receivedAmount: '19.977888336097291321',
      txid: tx_hash,
    });
    expect(data.payments).toEqual([{ ...USDC, amount: '20.00' }]);
    const { transaction } = (await api.signedGet('status', orderId, merchant)).data;
    expect(transaction).toMatchObject({ ...USDC, amount: '20.00', decimals: 6 });
  });

  test('changes the fingerprint with each head of a chain where it may be paid', async () => {
    const coins = [
      anOption('TRON_TEST', 'USDT', 53_900_000n),
      anOption('ETH_SEPOLIA', 'USDC', 53_950_000n),
      anOption('BSC_TEST', 'USDT', 53_910_000n),
    ] as const;
    const [tron, sepolia] = coins;
    const order = await anOrderWithOptions(admin.kysely, coins, { merchant_id: 'shop' });
    await aChainCursor(admin.kysely, { chain: 'TRON_TEST' });
    const reader = testDatabase.open('api');
    const fingerprint = async () => {
      const key = { merchantId: 'shop', orderId: order.order_id };
      return (await watching(reader.kysely).watchOrders([key]))[0]?.fingerprint;
    };
    const shownHeads = async () => {
      const shown: string[] = [];
      for (const { chain } of coins) {
        const before = await fingerprint();
        await sql`update chain_cursor set head_height = head_height + 1 where chain = ${chain}`.execute(
          admin.kysely,
        );
        if ((await fingerprint()) !== before) shown.push(chain);
      }
      return shown;
    };
    try {
      const open = await fingerprint();
      await chooseInDatabase(admin.kysely, order, tron);
      expect(await fingerprint()).not.toBe(open);
      expect(await shownHeads()).toEqual([]);
      await sql`update orders set status = 'PENDING' where order_pk = ${order.order_pk}`.execute(
        admin.kysely,
      );
      expect(await shownHeads()).toEqual(['TRON_TEST']);
      await chooseInDatabase(admin.kysely, order, sepolia);
      expect(await shownHeads()).toEqual(['TRON_TEST', 'ETH_SEPOLIA', 'BSC_TEST']);
    } finally {
      await reader.close();
    }
  });

  test.each([
    [USDT, 'PENDING_CONFIRMATION', 'order: is PENDING_CONFIRMATION; only its current coin can be asked for'],
    [USDT, 'EXPIRED', 'order: is EXPIRED; only its current coin can be asked for'],
  ])('refuses another coin than the current one of an order that is %s', async (coin, status, detail) => {
    const orderId = await aPricedOrder();
    const { data } = await choose(orderId, coin);
    await sql`update orders set status = ${status} where order_id = ${orderId}`.execute(admin.kysely);
    expect(await choose(orderId, BSC)).toMatchObject({ code: 409, msg: 'The order is closed.', detail });
    expect(await choose(orderId, coin)).toMatchObject({ code: 200, data: { address: data.address, status } });
  });

  test('refuses a coin disabled since the creation, unless it is the current one', async () => {
    const [open, chosen] = [await aPricedOrder(), await aPricedOrder()];
    const { address } = (await choose(chosen, BSC)).data;
    const networks = TEST_NETWORKS.map((network) => ({
      ...network,
      enabled: network.enabled && network.chain !== 'BSC_TEST',
    }));
    const later = await startTestApi(testDatabase, { merchant, networks });
    const coinsOf = async (orderId: string) =>
      (await later.signedGet('pay', orderId, merchant)).data.options.map(
        ({ chain, symbol }: { chain: string; symbol: string }) => `${chain} ${symbol}`,
      );
    const chooseLater = (orderId: string, coin: unknown) => choose(orderId, coin, undefined, later);
    try {
      expect(await coinsOf(open)).toEqual(['ETH_SEPOLIA USDT', 'ETH_SEPOLIA USDC']);
      expect(await chooseLater(open, BSC)).toMatchObject({
        code: 503,
        msg: 'Chain not ready',
        detail: 'chain, symbol: USDT on BSC_TEST is not enabled now; choose another coin',
      });
      expect(await addressesOf(open)).toEqual([]);
      expect(await coinsOf(chosen)).toContain('BSC_TEST USDT');
      expect(await chooseLater(chosen, BSC)).toMatchObject({ code: 200, data: { ...BSC, address } });
      expect(await chooseLater(chosen, USDC)).toMatchObject({ code: 200, data: { ...USDC, address } });
      expect(await coinsOf(chosen)).not.toContain('BSC_TEST USDT');
      expect(await chooseLater(chosen, BSC)).toMatchObject({ code: 503 });
    } finally {
      await later.stop();
    }
  });

  test('refuses the first choice of a coin that is off its peg', async () => {
    const orderId = await aPricedOrder();
    await choose(orderId, USDC);
    await sql`update current_rate set rate_id = null, refusal = 'DEPEGGED'`.execute(admin.kysely);
    expect(await choose(orderId, BSC)).toMatchObject({
      code: 422,
      msg: 'Rate not available',
      detail: 'chain, symbol: USDT on BSC_TEST is off its peg now; choose another coin',
    });
    expect(await choose(orderId, USDC)).toMatchObject({ code: 200 });
    await sql`update current_rate set refusal = 'RATES_STALE'`.execute(admin.kysely);
    expect(await choose(orderId, BSC)).toMatchObject({ code: 200, data: BSC }); // at the rate of the creation
  });

  test('refuses a choice after the expiry, and gives no address', async () => {
    const orderId = await aPricedOrder();
    await sql`update orders set created_at = now() - interval '2 minutes', expires_at = now() - interval '1 second'
      where order_id = ${orderId}`.execute(admin.kysely);
    expect(await choose(orderId, USDT)).toMatchObject({
      code: 409,
      detail: expect.stringContaining('is past its expiry'),
    });
    expect(await addressesOf(orderId)).toEqual([]);
  });

  test('needs the signature of the order, a listed coin and a JSON body', async () => {
    const orderId = await aPricedOrder({ accept: [USDT, USDC] });
    expect(await choose(orderId, USDT, signPaymentLink(merchant.token, 'other'))).toMatchObject({
      code: 401,
    });
    expect(await choose(orderId, BSC)).toMatchObject({
      code: 400,
      msg: 'The order does not accept this coin.',
    });
    expect(await choose(orderId, { symbol: 'USDT' })).toMatchObject({
      msg: 'The chain cannot be left blank.',
    });
    expect(await choose(orderId, [])).toMatchObject({ msg: 'The request body is not valid JSON.' });
    expect(await choose('unknown', USDT)).toMatchObject({ code: 404 });
    expect(await addressesOf(orderId)).toEqual([]);
  });

  test('may be called by pages of other origins', async () => {
    const response = await fetch(`${api.url}/v1/order/choose`, {
      method: 'OPTIONS',
      headers: { Origin: 'https://a.example' },
    });
    expect(response.headers.get('access-control-allow-methods')).toBe('POST');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
  });
});
