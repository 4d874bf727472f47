import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import type { MerchantSettings } from '@opentill/db/merchants';
import { aChainCursor, aHotWallet, aMerchant, ONE_USDT } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { signText } from '@opentill/contracts/signing/verify-signature';
import {
  anOrderId,
  COLLECTION,
  collectionData,
  NO_LIMITS,
  PAYOUT,
  payoutData,
  startTestApi,
  STRANGER,
  TEST_NETWORKS,
  TEST_PUBLIC_KEYS,
  USDC_SEPOLIA,
  USDT_SEPOLIA,
  type TestApi,
} from './support/test-api.ts';

const HOT_WALLET = TEST_PUBLIC_KEYS.families.EVM.hotWallets[0]!;

const { testDatabase, admin } = await openTestDatabase();
let api: TestApi;
let v3: MerchantSettings;
let v2: MerchantSettings;

beforeAll(async () => {
  v3 = await aMerchant(admin.kysely, {
    merchantId: 'v3',
    rateLimits: NO_LIMITS,
    underpaymentToleranceBps: 100,
  });
  v2 = await aMerchant(admin.kysely, { merchantId: 'v2', version: 'V2', rateLimits: NO_LIMITS });
  await aChainCursor(admin.kysely, { chain: 'ETH_SEPOLIA' });
  await aChainCursor(admin.kysely, { chain: 'BSC_TEST' });
  await aHotWallet(admin.kysely, { amount: 10_000n * ONE_USDT });
  api = await startTestApi(testDatabase, { merchant: v3 });
});
afterAll(() => api.stop());

const pay = (data: unknown, merchant = v3, through = api) => through.post(PAYOUT, data, { merchant });

async function balance(
  kind: 'HOT_AVAILABLE' | 'HOT_RESERVED',
  symbol = 'USDT',
  chain = 'ETH_SEPOLIA',
): Promise<bigint> {
  const { rows } = await sql<{ balance: bigint }>`
    select coalesce(sum(balance), 0) as balance from ledger_account
    where kind = ${kind} and symbol = ${symbol} and chain = ${chain}`.execute(admin.kysely);
  return rows[0]?.balance ?? 0n;
}

async function countPayouts(): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from orders where order_type = 'PAYOUT'`.execute(admin.kysely);
  return rows[0]?.n ?? 0;
}

describe('createPayout', () => {
  it('stores, reserves and requests a payout in one transaction', async () => {
    const orderId = anOrderId();
    const available = await balance('HOT_AVAILABLE');
    const wakes = api.wakes();
    const before = api.nowSeconds();
    const answer = await pay(payoutData({ orderId, amount: '25', uid: 'u1' }));
    expect(Object.keys(answer.data as object)).toEqual([
      'address',
      'amount',
      'symbol',
      'chain',
      'uid',
      'orderId',
      'expiredTime',
      'paymentUrl',
    ]);
    expect(answer.data).toMatchObject({
      address: evmAddressCodec.format(HOT_WALLET),
      amount: '25.00',
      symbol: 'USDT',
      chain: 'ETH_SEPOLIA',
      uid: 'u1',
      orderId,
      paymentUrl: null,
    });
    expect(answer.data.expiredTime - before).toBeGreaterThan(1790);
    expect(available - (await balance('HOT_AVAILABLE'))).toBe(25n * ONE_USDT);

    const row = await admin.kysely
      .selectFrom('orders')
      .selectAll()
      .where('order_id', '=', orderId)
      .executeTakeFirstOrThrow();
    expect(row).toMatchObject({
      order_type: 'PAYOUT',
      status: 'INIT',
      address: STRANGER,
      source_address: HOT_WALLET,
      amount: 25n * ONE_USDT,
      accepted_amount: 25n * ONE_USDT,
      signed_data_hash: null,
    });
    const outbox = await admin.kysely.selectFrom('api.outbox').selectAll().execute();
    const events = outbox.filter((each) => each.payload.includes(row.order_pk));
    expect(events.map((each) => each.routing_key).sort()).toEqual([
      'order.created._',
      'payout.requested.evm',
    ]);
    const notification = await admin.kysely
      .selectFrom('notification')
      .selectAll()
      .where('subject_id', '=', row.order_pk)
      .executeTakeFirstOrThrow();
    expect(notification).toMatchObject({ merchant_id: 'v3', sequence: 1, notify_type: 'ORDER_PENDING' });
    expect({ ...JSON.parse(notification.data), unmatched: [] }).toEqual(
      (await api.signedGet('status', orderId)).data,
    );
    const created = events.find((each) => each.routing_key === 'order.created._');
    expect(created?.payload).toContain(notification.event_id);
    expect(api.wakes()).toBe(wakes + 1);
  });

  it('shows a payout in status and getOrderStatus, and not in pay', async () => {
    const orderId = anOrderId();
    await pay(payoutData({ orderId, amount: '1.5' }));
    expect((await api.signedGet('status', orderId)).data).toEqual({
      orderId,
      uid: null,
      orderType: 'PAYOUT',
      status: 'INIT',
      reason: null,
      amount: '1.50',
      actualAmount: null,
      fee: '0',
      feeRatio: '0',
      transaction: null,
      unmatched: [],
    });
    expect((await api.signedGet('getOrderStatus', orderId)).data).toEqual({ status: 'INIT', unmatched: [] });
    expect(await api.signedGet('pay', orderId)).toMatchObject({ code: 404, msg: 'Order not found' });
  });

  it('accepts an address in lower case, upper case and with checksum', async () => {
    const checksummed = evmAddressCodec.format(STRANGER as never);
    for (const receiveAddress of [STRANGER, checksummed, `0x${STRANGER.slice(2).toUpperCase()}`]) {
      expect((await pay(payoutData({ receiveAddress, amount: '1' }))).code).toBe(200);
    }
  });
});

describe('fields of createPayout', () => {
  it.each([
    ['The amount cannot be left blank.', { amount: undefined }],
    ['The amount cannot be left blank.', { amount: null }],
    ['The amount cannot be left blank.', { amount: 'abc' }],
    ['The amount must be greater than zero.', { amount: '0' }],
    ['The amount must be greater than zero.', { amount: '0.00' }],
    ['The amount has too many decimals.', { amount: '0.0000001' }],
    ['The amount is out of range.', { amount: '0.001' }],
    ['The amount is out of range.', { amount: '1000001' }],
    ['The symbol cannot be left blank.', { symbol: '' }],
    ['The symbol cannot be left blank.', { symbol: undefined }],
    ['The chain cannot be left blank.', { chain: undefined }],
    ['The chain cannot be left blank.', { chain: 'NOWHERE' }],
    ['Unsupported symbol or chain', { symbol: 'EURX' }],
    ['Unsupported symbol or chain', { chain: 'SUI' }],
    ['The receiveAddress cannot be left blank.', { receiveAddress: undefined }],
    ['The receiveAddress cannot be left blank.', { receiveAddress: '' }],
    ['The receiveAddress cannot be left blank.', { receiveAddress: ' ' }],
    ['The receiveAddress cannot be left blank.', { receiveAddress: 5 }],
    ['ReceiveAddress error', { receiveAddress: 'nonsense' }],
    ['ReceiveAddress error', { receiveAddress: STRANGER.slice(2) }],
    ['ReceiveAddress error', { receiveAddress: `${STRANGER}0` }],
    ['ReceiveAddress error', { receiveAddress: ` ${STRANGER}` }],
    ['ReceiveAddress error', { receiveAddress: 'TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6' }],
    ['ReceiveAddress error', { receiveAddress: `0x${'0'.repeat(40)}` }],
    ['ReceiveAddress error', { receiveAddress: '0x70997970C51812dc3A010C7d01b50e0d17dc79c8' }],
    ['ReceiveAddress error', { receiveAddress: USDT_SEPOLIA }],
    ['ReceiveAddress error', { receiveAddress: USDC_SEPOLIA }],
    ['ReceiveAddress error', { receiveAddress: HOT_WALLET }],
    ['The uid cannot be zero.', { uid: '0' }],
    ['The orderId cannot be left blank.', { orderId: undefined }],
    ['The orderId is invalid.', { orderId: 'no spaces' }],
  ])('answers "%s" for %j', async (msg, overrides) => {
    const payouts = await countPayouts();
    expect(await pay(payoutData(overrides))).toMatchObject({ code: 400, msg });
    expect(await countPayouts()).toBe(payouts);
  });

  it("rejects one of the gateway's own deposit addresses", async () => {
    const collection = await api.post(COLLECTION, collectionData());
    expect(await pay(payoutData({ receiveAddress: collection.data.address }))).toMatchObject({
      code: 400,
      msg: 'ReceiveAddress error',
    });
  });

  it('checks amount, symbol, chain, receiveAddress, uid, orderId, then the rest', async () => {
    const wrong: Record<string, unknown> = {
      amount: null,
      symbol: null,
      chain: null,
      receiveAddress: null,
      uid: 'a b',
      orderId: 'a b',
    };
    const right = payoutData({ receiveAddress: 'nonsense' });
    const texts: string[] = [];
    for (const field of ['amount', 'symbol', 'chain', 'receiveAddress', 'uid', 'orderId']) {
      texts.push((await pay(wrong)).msg);
      wrong[field] = right[field];
    }
    texts.push((await pay(wrong)).msg);
    expect(texts).toEqual([
      'The amount cannot be left blank.',
      'The symbol cannot be left blank.',
      'The chain cannot be left blank.',
      'The receiveAddress cannot be left blank.',
      'The uid is invalid.',
      'The orderId is invalid.',
      'ReceiveAddress error',
    ]);
  });

  it('requires uid for a V2 merchant', async () => {
    expect(await pay(payoutData({ uid: undefined }), v2)).toMatchObject({
      code: 400,
      msg: 'The uid cannot be left blank.',
    });
  });

  it('answers 503 on a chain without a cursor', async () => {
    expect(await pay(payoutData({ chain: 'POLYGON_AMOY' }))).toMatchObject({
      code: 503,
      msg: 'Chain not ready',
    });
  });
});

describe('unregistered hot wallets', () => {
  const PAYOUTS = {
    maxOpenNonces: 16,
    minPriorityFeePerGas: '1',
    maxPriorityFeePerGas: '1',
    maxFeePerGas: '1',
    bumpAfterSeconds: 60,
  };
  const written = async () => {
    const { rows } = await sql`
      select (select count(*) from orders) as orders, (select count(*) from notification) as notifications,
        (select count(*) from api.outbox) as events, (select count(*) from request_nonce) as nonces,
        (select count(*) from ledger_transaction) as bookings, (select count(*) from payout) as payouts`.execute(
      admin.kysely,
    );
    return rows[0];
  };

  it('answers 503 and names the repair until setup registers the hot wallet', async () => {
    const known = payoutData();
    expect((await pay(known)).code).toBe(200);
    const late = await startTestApi(testDatabase, {
      merchant: v3,
      profile: 'local',
      networks: TEST_NETWORKS.map((each) =>
        each.chain === 'ETH_SEPOLIA' && each.family === 'EVM' ? { ...each, payouts: PAYOUTS } : each,
      ),
    });
    try {
      await sql`delete from hot_wallet where address = ${HOT_WALLET}`.execute(admin.kysely);
      const before = await written();
      const [data, nonce] = [payoutData(), 'waits-for-setup'];
      for (const _ of [1, 2]) {
        expect(await late.post(PAYOUT, data, { nonce })).toMatchObject({ code: 503, msg: 'Chain not ready' });
      }
      expect(await written()).toEqual(before);
      expect(late.logLines().filter(({ level }) => level === 'error')).toMatchObject([
        { family: 'EVM', address: HOT_WALLET },
        { family: 'EVM', address: HOT_WALLET },
      ]);
      // Existing payouts are still answered, and collections are created.
      expect((await late.post(PAYOUT, known)).code).toBe(200);
      expect((await late.post(COLLECTION, collectionData())).code).toBe(200);

      const whatToRun =
        'hot wallet of EVM not registered: run opentill setup with PUBLIC_KEYS_FILE and NETWORKS_FILE';
      const readiness = async () =>
        (JSON.parse((await late.request('GET', '/readyz')).text) as { checks: Record<string, unknown> })
          .checks;
      expect(await readiness()).toMatchObject({ payoutWallets: { ok: false, detail: whatToRun } });
      expect(await late.app.checks['payoutWallets']!()).toEqual({ ok: true, detail: whatToRun });

      await admin.kysely.insertInto('hot_wallet').values({ family: 'EVM', address: HOT_WALLET }).execute();
      expect((await late.post(PAYOUT, data, { nonce })).code).toBe(200);
      expect(await readiness()).toMatchObject({ payoutWallets: { ok: true, detail: 'known' } });
    } finally {
      await admin.kysely
        .insertInto('hot_wallet')
        .values({ family: 'EVM', address: HOT_WALLET })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      await late.stop();
    }
  });
});

describe('repeated payouts', () => {
  it('answers an equal payout as first created and reserves no more', async () => {
    const data = payoutData({ amount: '3' });
    const first = await pay(data);
    const available = await balance('HOT_AVAILABLE');
    api.advance(3);
    const receiveAddress = evmAddressCodec.format(STRANGER as never);
    const again = await pay({ ...data, amount: '3.000', receiveAddress });
    expect(again.text).toBe(first.text);
    expect(await balance('HOT_AVAILABLE')).toBe(available);
  });

  it.each([
    ['amount', { amount: '4' }],
    ['receiver', { receiveAddress: '0x00000000000000000000000000000000deadbeef' }],
    ['uid', { uid: 'x' }],
  ])('answers 409 for a repeated order id with another %s', async (_what, change) => {
    const data = payoutData({ amount: '3' });
    await pay(data);
    expect(await pay({ ...data, ...change })).toMatchObject({ code: 409, msg: 'Order ID already exists.' });
  });

  it('answers 409 for a collection with the id of a payout', async () => {
    const { receiveAddress, ...order } = payoutData({ amount: '3' });
    await pay({ receiveAddress, ...order });
    expect(await api.post(COLLECTION, order)).toMatchObject({ code: 409, msg: 'Order ID already exists.' });
  });

  it('answers an existing payout after its chain was disabled and balance spent', async () => {
    const data = payoutData({ amount: '3' });
    const first = await pay(data);
    const later = await startTestApi(testDatabase, {
      merchant: v3,
      networks: TEST_NETWORKS.map((network) => ({ ...network, enabled: network.chain === 'BSC_TEST' })),
    });
    const again = await pay(data, v3, later);
    await later.stop();
    expect(again.text).toBe(first.text);
  });

  it('rejects a repeated payout without orderId permanently as a duplicate', async () => {
    const data = payoutData({ orderId: undefined, uid: 'user', note: anOrderId() });
    const first = await pay(data, v2);
    expect(first.code).toBe(200);
    const available = await balance('HOT_AVAILABLE');
    api.advance(100_000);
    const reordered = Object.fromEntries(Object.entries(data).toReversed());
    for (const again of [data, reordered]) {
      expect(await pay(again, v2)).toMatchObject({
        code: 409,
        msg: `Duplicate of order ${String(first.data.orderId)}`,
        data: null,
        detail: expect.stringContaining('to pay again, add a member to data'),
      });
    }
    api.advance(-100_000);
    expect(await balance('HOT_AVAILABLE')).toBe(available);
    const other = await pay({ ...data, note: 'the second one' }, v2);
    expect(other.code).toBe(200);
    expect(other.data.orderId).not.toBe(first.data.orderId);
  });

  it('rejects a duplicate without orderId after its chain was disabled', async () => {
    const data = payoutData({ orderId: undefined, uid: 'user', note: anOrderId() });
    const first = await pay(data, v2);
    const later = await startTestApi(testDatabase, {
      networks: TEST_NETWORKS.map((network) => ({ ...network, enabled: network.chain === 'BSC_TEST' })),
    });
    const again = await pay(data, v2, later);
    await later.stop();
    expect(again).toMatchObject({ code: 409, msg: `Duplicate of order ${String(first.data.orderId)}` });
  });

  it('pays one of twenty concurrent equal payouts without orderId', async () => {
    const dataText = JSON.stringify(
      payoutData({ orderId: undefined, uid: 'user', note: anOrderId(), amount: '2' }),
    );
    const available = await balance('HOT_AVAILABLE');
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        api.request('POST', PAYOUT, {
          headers: { 'content-type': 'application/json' },
          body: `{"sign":"${signText(v2.token, dataText)}","timestamp":${api.nowSeconds()},"nonce":"${anOrderId()}-${i}","data":${dataText}}`,
        }),
      ),
    );
    expect(answers.filter((answer) => answer.code === 200)).toHaveLength(1);
    expect(answers.filter((answer) => answer.msg.startsWith('Duplicate of order '))).toHaveLength(19);
    expect(available - (await balance('HOT_AVAILABLE'))).toBe(2n * ONE_USDT);
  });
});

describe('balance of the hot wallet', () => {
  it('answers 422, spends the nonce and stores no order without balance', async () => {
    const data = payoutData({ symbol: 'USDC', amount: '1' });
    const nonce = anOrderId();
    const answer = await api.post(PAYOUT, data, { nonce });
    expect(answer).toMatchObject({ code: 422, msg: 'Insufficient balance' });
    expect(await api.post(PAYOUT, data, { nonce })).toMatchObject({ code: 401, msg: 'Nonce already used' });
    expect(await api.signedGet('status', String(data['orderId']))).toMatchObject({ code: 404 });
    await aHotWallet(admin.kysely, { symbol: 'USDC', amount: 5n * ONE_USDT });
    expect((await pay(data)).code).toBe(200);
    expect(await balance('HOT_AVAILABLE', 'USDC')).toBe(4n * ONE_USDT);
  });

  it('accepts one of twenty concurrent payouts of the full balance', async () => {
    const amount = 777n * 10n ** 18n;
    await aHotWallet(admin.kysely, { chain: 'BSC_TEST', amount });
    const other = await startTestApi(testDatabase, { merchant: v3 });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        pay(payoutData({ chain: 'BSC_TEST', amount: '777' }), v3, i % 2 === 0 ? api : other),
      ),
    );
    await other.stop();
    expect(answers.filter((answer) => answer.code === 200)).toHaveLength(1);
    expect(answers.filter((answer) => answer.msg === 'Insufficient balance')).toHaveLength(19);
    expect(await balance('HOT_AVAILABLE', 'USDT', 'BSC_TEST')).toBe(0n);
    expect(await balance('HOT_RESERVED', 'USDT', 'BSC_TEST')).toBe(amount);
  });

  it('accepts as many concurrent payouts as the balance covers', async () => {
    await aHotWallet(admin.kysely, { chain: 'BSC_TEST', amount: 10n * 10n ** 18n });
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => pay(payoutData({ chain: 'BSC_TEST', amount: '1' }))),
    );
    expect(answers.filter((answer) => answer.code === 200)).toHaveLength(10);
    expect(await balance('HOT_AVAILABLE', 'USDT', 'BSC_TEST')).toBe(0n);
  });
});

describe('existing payouts', () => {
  it('answers an existing payout whose receiver became a token contract', async () => {
    const data = payoutData({ amount: '1' });
    const first = await pay(data);
    expect(first.code).toBe(200);
    const networks = TEST_NETWORKS.map((network) => {
      const [token] = network.tokens;
      return { ...network, tokens: [...network.tokens, { ...token!, symbol: 'NEW', contract: STRANGER }] };
    });
    const changed = await startTestApi(testDatabase, { merchant: v3, networks });
    expect(await pay(data, v3, changed)).toMatchObject({ code: 200, data: first.data });
    expect(await pay(payoutData({ amount: '1' }), v3, changed)).toMatchObject({
      msg: 'ReceiveAddress error',
    });
    await changed.stop();
  });
});
