import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import { UNMATCHED_SHOWN } from '@opentill/contracts/format-unmatched';
import { signOrderId } from '@opentill/contracts/signing/verify-signature';
import { announcePresence } from '@opentill/db/presence';
import type { UnmatchedReason } from '@opentill/domain/settle-transfer';
import { aFate, anOwnTransaction, aReservedPayout } from '@opentill/testkit/payout-scenario';
import { anOption, anOrderWithOptions, choose } from '@opentill/testkit/order-options';
import {
  aChainCursor,
  aCollection,
  aMerchant,
  aTransfer,
  ONE_USDT,
  type OrderRow,
} from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createStore } from '../src/store/create-store.ts';
import {
  anOrderId,
  COLLECTION,
  collectionData,
  NO_LIMITS,
  startTestApi,
  STRANGER,
  TEST_NETWORKS,
  USDC_SEPOLIA,
  USDT_SEPOLIA,
  type TestApi,
} from './support/test-api.ts';

const NO_PROFILE = {
  name: null,
  logoUrl: null,
  accentColor: null,
  supportUrl: null,
  supportEmail: null,
  shopUrl: null,
};
const merchant = { token: 'token-of-shop-0123456789-0123456789' };
const { testDatabase, admin } = await openTestDatabase();
let api: TestApi;

beforeAll(async () => {
  await aMerchant(admin.kysely, {
    merchantId: 'shop',
    ...merchant,
    rateLimits: NO_LIMITS,
    returnOrigins: ['https://shop.example'],
  });
  await aChainCursor(admin.kysely, { chain: 'ETH_SEPOLIA', head_height: 100 });
  api = await startTestApi(testDatabase, { merchant });
});
afterAll(() => api.stop());

const shown = (address: string) => evmAddressCodec.format(address as never);

function collection(overrides: Parameters<typeof aCollection>[1] = {}): Promise<OrderRow> {
  return aCollection(admin.kysely, { merchant_id: 'shop', contract_address: USDT_SEPOLIA, ...overrides });
}

describe('GET status of a payout', () => {
  const toPay = (
    status: 'PENDING' | 'PENDING_CONFIRMATION' | 'SUCCESS' | 'FAILED' = 'PENDING_CONFIRMATION',
  ) =>
    aReservedPayout(admin.kysely, { merchant_id: 'shop', contract_address: USDT_SEPOLIA }).then((order) =>
      admin.kysely
        .updateTable('orders')
        .set({ status })
        .where('order_pk', '=', order.order_pk)
        .returningAll()
        .$narrowType<{ address: string }>()
        .executeTakeFirstOrThrow(),
    );
  const transactionOf = async (order: OrderRow) => {
    const { data } = await api.signedGet('status', order.order_id);
    return (data as { transaction: Record<string, unknown> | null }).transaction;
  };

  it('shows no transaction before it is in a block or after it was orphaned', async () => {
    const order = await toPay('PENDING');
    expect(await transactionOf(order)).toBeNull();
    const transaction = await anOwnTransaction(admin.kysely, order);
    expect(await transactionOf(order)).toBeNull();
    await aFate(admin.kysely, transaction, 'ORPHANED');
    expect(await transactionOf(order)).toBeNull();
  });

  it('shows the transaction from hot wallet to receiver, as in callbacks', async () => {
    const order = await toPay();
    const transaction = await anOwnTransaction(admin.kysely, order);
    const mined = { block_height: 98, block_time: new Date('2026-01-02T03:04:05.678Z') };
    await aFate(admin.kysely, transaction, 'MINED', mined);
    const view = {
      chain: 'ETH_SEPOLIA',
      symbol: 'USDT',
      contractAddress: shown(USDT_SEPOLIA),
      decimals: 6,
      txid: transaction.tx_hash,
      from: shown(order.source_address ?? ''),
      to: shown(order.address),
      amount: '250.00',
      blockNum: 98,
      confirmedNum: 3,
      status: 'PENDING',
      timestamp: 1_767_323_045,
      txGas: '0.000063',
    };
    expect(await transactionOf(order)).toEqual(view);
    await aFate(admin.kysely, transaction, 'VERIFIED', { ...mined, delivered: 249n * ONE_USDT });
    expect(await transactionOf(order)).toEqual({ ...view, status: 'SUCCESS', amount: '249.00' });
  });

  it('shows the delivered transaction, else a pending, else a failed one', async () => {
    const order = await toPay();
    const [failed, other] = [
      await anOwnTransaction(admin.kysely, order, { nonce: null }),
      await anOwnTransaction(admin.kysely, order, { nonce: null }),
    ];
    await aFate(admin.kysely, failed, 'VERIFIED', { succeeded: false, block_height: 99 });
    expect(await transactionOf(order)).toMatchObject({
      txid: failed.tx_hash,
      status: 'FAILED',
      amount: '250.00',
    });
    await aFate(admin.kysely, other, 'MINED', { block_height: 97 });
    expect(await transactionOf(order)).toMatchObject({ txid: other.tx_hash, status: 'PENDING' });
    await aFate(admin.kysely, other, 'VERIFIED', { block_height: 97 });
    expect(await transactionOf(order)).toMatchObject({ txid: other.tx_hash, status: 'SUCCESS' });
  });
});

describe('GET status', () => {
  it('shows the latest transfer with its current confirmations', async () => {
    const order = await collection({
      status: 'PENDING_CONFIRMATION',
      uid: 'u7',
      detected_amount: 250n * ONE_USDT,
    });
    await aTransfer(admin.kysely, order, { amount: 100n * ONE_USDT, block_height: 96 });
    const blockTime = new Date('2026-01-02T03:04:05Z');
    const latest = await aTransfer(admin.kysely, order, {
      amount: 150_500_000n,
      block_height: 98,
      block_time: blockTime,
      network_fee: 21_000_000_000_000n,
    });
    await aTransfer(admin.kysely, order, { amount: 5n, block_height: 99, state: 'ORPHANED' });
    await aTransfer(admin.kysely, order, { amount: 6n, block_height: 99, contract_address: USDC_SEPOLIA });
    await aTransfer(admin.kysely, order, { amount: 7n, block_height: 99, chain: 'BSC_TEST' });
    const answer = await api.signedGet('status', order.order_id);
    expect(answer.data).toEqual({
      orderId: order.order_id,
      uid: 'u7',
      orderType: 'COLLECTION',
      status: 'PENDING_CONFIRMATION',
      reason: null,
      amount: '250.00',
      actualAmount: null,
      fee: '0',
      feeRatio: '0',
      transaction: {
        chain: 'ETH_SEPOLIA',
        symbol: 'USDT',
        contractAddress: shown(USDT_SEPOLIA),
        decimals: 6,
        txid: latest.tx_hash,
        from: shown(latest.from_address),
        to: shown(order.address),
        amount: '150.50',
        blockNum: 98,
        confirmedNum: 3,
        status: 'PENDING',
        timestamp: blockTime.getTime() / 1000,
        txGas: '0.000021',
      },
      unmatched: [],
    });
    await sql`update chain_cursor set head_height = 110 where chain = 'ETH_SEPOLIA'`.execute(admin.kysely);
    const later = await api.signedGet('status', order.order_id);
    expect(later.data.transaction.confirmedNum).toBe(13);
    await sql`update chain_cursor set head_height = 100 where chain = 'ETH_SEPOLIA'`.execute(admin.kysely);
  });

  it('shows a verified payment with its actual amount and reason', async () => {
    const order = await collection({
      status: 'EXPIRED',
      reason: 'Underpaid',
      detected_amount: ONE_USDT,
      actual_amount: ONE_USDT,
    });
    await aTransfer(admin.kysely, order, { amount: ONE_USDT, block_height: 50, state: 'VERIFIED' });
    const { data } = await api.signedGet('status', order.order_id);
    expect(data).toMatchObject({ status: 'EXPIRED', reason: 'Underpaid', actualAmount: '1.00' });
    expect(data.transaction).toMatchObject({ status: 'SUCCESS', confirmedNum: 51 });
  });
});

describe('GET status of a paid order', () => {
  it('shows the transfer that paid the order despite later transfers', async () => {
    const order = await collection({ status: 'SUCCESS', actual_amount: 250n * ONE_USDT });
    const paid = await aTransfer(admin.kysely, order, { block_height: 90, state: 'VERIFIED' });
    const dust = await aTransfer(admin.kysely, order, { amount: 1n, block_height: 95, state: 'VERIFIED' });
    await admin.kysely
      .insertInto('transfer_settlement')
      .values(
        [paid, dust].map(({ transfer_id }) => ({
          transfer_id,
          settled_version: 1,
          order_pk: order.order_pk,
          credited: transfer_id === paid.transfer_id,
        })),
      )
      .execute();
    const { data } = await api.signedGet('status', order.order_id);
    expect(data.transaction).toMatchObject({
      txid: paid.tx_hash,
      amount: '250.00',
      from: shown(paid.from_address),
    });
    expect((await api.signedGet('pay', order.order_id)).data).toMatchObject({ txid: paid.tx_hash });
    const page = await api.request(
      'GET',
      `/checkout?orderId=${order.order_id}&sign=${signOrderId(merchant.token, order.order_id)}`,
    );
    expect(page.text).toContain(paid.tx_hash);
    expect(page.text).not.toContain(dust.tx_hash);
  });
});

describe('GET pay', () => {
  it('shows the data of the checkout page', async () => {
    const orderId = anOrderId();
    const created = await api.post(
      COLLECTION,
      collectionData({ orderId, returnUrl: 'https://shop.example/back', description: 'Two cups' }),
    );
    const askedAt = api.nowSeconds();
    const { data } = await api.signedGet('pay', orderId);
    expect(data).toEqual({
      orderId,
      chain: 'ETH_SEPOLIA',
      chainName: 'ETH_SEPOLIA',
      symbol: 'USDT',
      contractAddress: shown(USDT_SEPOLIA),
      decimals: 6,
      address: created.data.address,
      amount: '250.00',
      actualAmount: null,
      expiredTime: created.data.expiredTime,
      status: 'INIT',
      reason: null,
      receivedAmount: '0.00',
      txid: null,
      explorerUrl: null,
      explorerTxUrl: null,
      transactionTime: null,
      confirmedNum: 0,
      requiredConfirmations: 3,
      returnUrl: 'https://shop.example/back',
      description: 'Two cups',
      serverTime: data.serverTime,
      merchant: { ...NO_PROFILE, name: 'Merchant shop' },
      isTestNetwork: true,
      chainId: 11_155_111,
      unmatched: [],
      unmatchedCount: 0,
    });
    expect(data.serverTime).toBeGreaterThanOrEqual(askedAt);
    expect(data.serverTime).toBeLessThanOrEqual(api.nowSeconds());
  });

  it('shows the amount received so far and its confirmations', async () => {
    const order = await collection({
      status: 'PENDING',
      detected_amount: 12_345_678n,
      confirmations_required: null,
    });
    const transfer = await aTransfer(admin.kysely, order, { amount: 12_345_678n, block_height: 100 });
    expect((await api.signedGet('pay', order.order_id)).data).toMatchObject({
      status: 'PENDING',
      receivedAmount: '12.345678',
      txid: transfer.tx_hash,
      transactionTime: Math.floor(transfer.block_time.getTime() / 1000),
      confirmedNum: 1,
      requiredConfirmations: null,
    });
  });
});

describe('GET getOrderStatus', () => {
  it('returns the status and the payments that do not count', async () => {
    const order = await collection({ status: 'SUCCESS', actual_amount: 250n * ONE_USDT });
    expect((await api.signedGet('getOrderStatus', order.order_id)).data).toEqual({
      status: 'SUCCESS',
      unmatched: [],
    });
  });
});

describe('the field unmatched', () => {
  const insert = async (
    order: OrderRow,
    transfer: { readonly transfer_id: number },
    reason: UnmatchedReason,
    row: { readonly withdrawn?: boolean; readonly dust?: boolean } = {},
  ) =>
    admin.kysely
      .insertInto('unmatched_deposit')
      .values({
        transfer_id: transfer.transfer_id,
        merchant_id: 'shop',
        order_pk: order.order_pk,
        reason,
        ...row,
      })
      .execute();
  const shownBy = async (order: OrderRow) => {
    const answers = await Promise.all(
      (['pay', 'getOrderStatus', 'status'] as const).map((path) => api.signedGet(path, order.order_id)),
    );
    const [pay, ...others] = answers.map(({ data }) => data.unmatched as unknown[]);
    for (const other of others) expect(other).toEqual(pay);
    return pay;
  };

  it('lists wrong tokens and chains in their own units, newest first', async () => {
    const order = await collection({ status: 'INIT' });
    const wrongToken = await aTransfer(admin.kysely, order, {
      amount: 49_900_000n,
      symbol: 'USDC',
      contract_address: USDC_SEPOLIA,
    });
    const wrongChain = await aTransfer(admin.kysely, order, {
      chain: 'BSC_TEST',
      amount: 12_345_000_000_000_000_000n,
    });
    await insert(order, wrongToken, 'WRONG_TOKEN');
    await insert(order, wrongChain, 'WRONG_CHAIN');
    expect(await shownBy(order)).toEqual([
      {
        chain: 'BSC_TEST',
        chainName: 'BSC_TEST',
        symbol: 'USDT',
        amount: '12.345',
        txid: wrongChain.tx_hash,
        explorerUrl: null,
        reason: 'WRONG_CHAIN',
      },
      {
        chain: 'ETH_SEPOLIA',
        chainName: 'ETH_SEPOLIA',
        symbol: 'USDC',
        amount: '49.90',
        txid: wrongToken.tx_hash,
        explorerUrl: null,
        reason: 'WRONG_TOKEN',
      },
    ]);
  });

  it('omits withdrawn payments, dust, and tokens that are not configured', async () => {
    const order = await collection({ status: 'INIT' });
    const usdc = { symbol: 'USDC', contract_address: USDC_SEPOLIA } as const;
    await insert(order, await aTransfer(admin.kysely, order, usdc), 'WRONG_TOKEN', { withdrawn: true });
    await insert(order, await aTransfer(admin.kysely, order, usdc), 'WRONG_TOKEN', { dust: true });
    const gone = await aTransfer(admin.kysely, order, { symbol: 'DAI', contract_address: STRANGER });
    await insert(order, gone, 'WRONG_TOKEN');
    expect(await shownBy(order)).toEqual([]);
  });

  it('lists at most 20 payments, and counts all of them', async () => {
    const order = await collection({ status: 'SUCCESS', actual_amount: 250n * ONE_USDT });
    const hashes: string[] = [];
    for (let i = 0; i < UNMATCHED_SHOWN + 1; i += 1) {
      const transfer = await aTransfer(admin.kysely, order);
      hashes.unshift(transfer.tx_hash);
      await insert(order, transfer, 'AFTER_SUCCESS');
    }
    const shown = (await shownBy(order)) as { txid: string }[];
    expect(shown.map(({ txid }) => txid)).toEqual(hashes.slice(0, UNMATCHED_SHOWN));
    const { data } = await api.signedGet('pay', order.order_id);
    expect(data.unmatchedCount).toBe(UNMATCHED_SHOWN + 1);
  });

  it('neither lists nor counts payments of tokens that are not configured', async () => {
    const order = await collection({ status: 'INIT' });
    const usdc = { symbol: 'USDC', contract_address: USDC_SEPOLIA } as const;
    const wrongToken = await aTransfer(admin.kysely, order, usdc);
    await insert(order, wrongToken, 'WRONG_TOKEN');
    for (let i = 0; i < UNMATCHED_SHOWN; i += 1) {
      const gone = await aTransfer(admin.kysely, order, { symbol: 'DAI', contract_address: STRANGER });
      await insert(order, gone, 'WRONG_TOKEN');
    }
    expect(await shownBy(order)).toMatchObject([{ txid: wrongToken.tx_hash }]);
    const { data } = await api.signedGet('pay', order.order_id);
    expect(data.unmatchedCount).toBe(1);
  });

  it("lists the order's own coin after it and its chain left the networks file", async () => {
    const gone = { symbol: 'GONE', contract_address: STRANGER } as const;
    const order = await collection({ status: 'EXPIRED', ...gone, decimals: 8, display_decimals: 3 });
    await insert(order, await aTransfer(admin.kysely, order, { ...gone, amount: 150_000_000n }), 'LATE');
    expect(await shownBy(order)).toMatchObject([{ symbol: 'GONE', amount: '1.500', reason: 'LATE' }]);
    const away = await collection({ status: 'EXPIRED', chain: 'AVAX_FUJI_TEST', ...gone });
    await insert(away, await aTransfer(admin.kysely, away, { ...gone, amount: 2_000_000n }), 'LATE');
    expect(await shownBy(away)).toMatchObject([
      { chain: 'AVAX_FUJI_TEST', chainName: 'AVAX_FUJI_TEST', amount: '2.00', explorerUrl: null },
    ]);
  });

  it('lists options that left the networks file, but no other coin that did', async () => {
    const tron = anOption('TRON_TEST', 'USDT', 53_900_000n);
    const gone = anOption('ETH_SEPOLIA', 'GONE', 53_950_000n);
    const made = await anOrderWithOptions(admin.kysely, [tron, gone], { merchant_id: 'shop' });
    for (const option of [tron, gone, anOption('ETH_SEPOLIA', 'DAI', 1n)]) {
      if (option.symbol !== 'DAI') await choose(admin.kysely, made, option);
      const { address } = await admin.kysely
        .selectFrom('deposit_address')
        .select('address')
        .where('order_pk', '=', made.order_pk)
        .where('family', '=', option.family)
        .executeTakeFirstOrThrow();
      const { chain, family, symbol, contract_address } = option;
      const paid = { chain, family, symbol, contract_address, address, amount: 7_000_000n };
      const transfer = await aTransfer(admin.kysely, paid);
      await insert({ ...made, address }, transfer, symbol === 'DAI' ? 'WRONG_TOKEN' : 'LATE');
    }
    expect(await shownBy({ ...made, address: '' })).toMatchObject([
      { chain: 'ETH_SEPOLIA', symbol: 'GONE', amount: '7.00', reason: 'LATE' },
      { chain: 'TRON_TEST', symbol: 'USDT', amount: '7.00', reason: 'LATE' },
    ]);
    const { data } = await api.signedGet('pay', made.order_id);
    expect(data.unmatchedCount).toBe(2);
  });

  it('is read in the query of the order', async () => {
    const order = await collection({ status: 'INIT' });
    await insert(order, await aTransfer(admin.kysely, order, { symbol: 'USDC' }), 'WRONG_TOKEN');
    let sent = 0;
    const counted = admin.kysely.withPlugin({
      transformQuery({ node }) {
        sent += 1;
        return node;
      },
      transformResult: ({ result }) => Promise.resolve(result),
    });
    const store = createStore(counted, TEST_NETWORKS);
    expect(await store.findOrder('shop', order.order_id)).toMatchObject({ unmatched: [{ symbol: 'USDC' }] });
    expect(await store.findStatus('shop', order.order_id)).toMatchObject({ unmatched: [{ symbol: 'USDC' }] });
    expect(sent).toBe(2);
  });
});

describe('GET supportSymbols', () => {
  const list = async (query = '') => api.request('GET', `/v1/symbol/supportSymbols${query}`);
  const usdt = {
    symbol: 'USDT',
    chain: 'ETH_SEPOLIA',
    contractAddress: shown(USDT_SEPOLIA),
    decimals: 6,
    minAmount: '0.01',
    maxAmount: '1000000.00',
  };

  it('lists the tokens of the enabled chains', async () => {
    const { data } = await list();
    expect(data.map((each: typeof usdt) => `${each.chain} ${each.symbol}`)).toEqual([
      'ETH_SEPOLIA USDT',
      'ETH_SEPOLIA USDC',
      'BSC_TEST USDT',
      'POLYGON_AMOY USDT',
    ]);
    expect(data[0]).toEqual(usdt);
    expect(data[1].maxAmount).toBeNull();
    expect(data[2].decimals).toBe(18);
  });

  it('filters tokens by chain and symbol', async () => {
    expect((await list('?chain=ETH_SEPOLIA&symbol=usdt&_t=1')).data).toEqual([usdt]);
    expect((await list('?symbol=usdc')).data).toHaveLength(1);
    expect((await list('?chain=ETH')).data).toEqual([]);
    expect((await list('?symbol=NONE')).data).toEqual([]);
  });

  it('rejects an unknown chain', async () => {
    expect(await list('?chain=DOGE')).toMatchObject({ code: 400, msg: 'Unsupported chain' });
    const twice = await list('?chain=ETH_SEPOLIA&chain=BSC_TEST');
    expect(twice).toMatchObject({ code: 400, msg: 'Unsupported chain' });
  });
});

describe('readiness of the gateway', () => {
  it('shows readiness on the public port only in the local profile', async () => {
    expect((await api.request('GET', '/readyz')).status).toBe(404);
  });

  it('requires every chain followed and every service alive, but not the broker', async () => {
    const local = await startTestApi(testDatabase, { profile: 'local' });
    const ask = async () => {
      const answer = await local.request('GET', '/readyz');
      return [
        answer.status,
        JSON.parse(answer.text) as { status: string; checks: Record<string, unknown> },
      ] as const;
    };
    // Repeated, since the database may be too slow for a check under load.
    await waitUntil('the missing chains', async () => {
      const [before, waiting] = await ask();
      expect(before).toBe(503);
      expect(waiting).toMatchObject({
        status: 'not ready',
        checks: {
          database: { ok: true },
          merchants: { ok: true },
          broker: { ok: true, detail: 'not connected, events wait' },
          chains: { ok: false, detail: 'waiting for BSC_TEST, POLYGON_AMOY' },
          scanner: { ok: false },
          tracker: { ok: false },
          webhookSender: { ok: false },
          ops: { ok: true, detail: '0 alive' }, // no payment needs it
        },
      });
      return true;
    });
    await aChainCursor(admin.kysely, { chain: 'BSC_TEST' });
    await aChainCursor(admin.kysely, { chain: 'POLYGON_AMOY' });
    await sql`update chain_cursor set updated_at = now() + interval '10 minutes'`.execute(admin.kysely);
    const pools = (['scanner_evm', 'tracker', 'webhook'] as const).map((schema) => {
      const pool = testDatabase.open(schema);
      return { pool, presence: announcePresence({ db: pool.kysely, schema, instance: `${schema}-1` }) };
    });
    await waitUntil('ready', async () => (await ask())[0] === 200);
    await sql`update chain_cursor set updated_at = now() - interval '2 minutes' where chain = 'BSC_TEST'`.execute(
      admin.kysely,
    );
    await waitUntil('one chain is behind', async () => {
      const { checks } = (await ask())[1];
      expect(checks['chains']).toEqual({ ok: false, detail: 'waiting for BSC_TEST' });
      return true;
    });
    await sql`insert into chain_status (chain, service, state, reason)
      values ('BSC_TEST', 'SCANNER', 'HALTED', 'REORG_TOO_DEEP')`.execute(admin.kysely);
    await waitUntil('one chain is halted', async () => {
      const { checks } = (await ask())[1];
      expect(checks['chains']).toEqual({ ok: false, detail: 'BSC_TEST halted: REORG_TOO_DEEP' });
      return true;
    });
    await sql`delete from chain_status`.execute(admin.kysely);
    await local.stop();

    await sql`update chain_cursor set updated_at = now() + interval '10 minutes'`.execute(admin.kysely);
    const payouts = {
      maxOpenNonces: 16,
      minPriorityFeePerGas: '1',
      maxPriorityFeePerGas: '10',
      maxFeePerGas: '100',
      bumpAfterSeconds: 10,
    };
    const paying = await startTestApi(testDatabase, {
      profile: 'local',
      networks: TEST_NETWORKS.map((network) => ({ ...network, payouts })),
    });
    await waitUntil('no signer', async () => {
      const unsigned = await paying.request('GET', '/readyz');
      expect(unsigned.status).toBe(503);
      expect(JSON.parse(unsigned.text)).toMatchObject({
        checks: { payoutSigner: { ok: false, detail: '0 alive' } },
      });
      return true;
    });
    const pool = testDatabase.open('signer');
    const presence = announcePresence({ db: pool.kysely, schema: 'signer', instance: 'signer-1' });
    await waitUntil('ready', async () => (await paying.request('GET', '/readyz')).status === 200);
    await paying.stop();
    for (const one of [...pools, { pool, presence }]) {
      await one.presence.stop();
      await one.pool.close();
    }
  });
});
