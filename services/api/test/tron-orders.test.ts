import { afterAll, beforeAll, expect, it } from 'vitest';
import { tronAddressCodec } from '@opentill/chain-tron/address-codec';
import { parseNetworkFile } from '@opentill/contracts/parse-network-file';
import { announcePresence } from '@opentill/db/presence';
import { aChainCursor, aHotWallet, aMerchant, ONE_USDT } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createDepositDeriver } from '@opentill/wallet/deposit-address-deriver';
import {
  COLLECTION,
  collectionData,
  NO_LIMITS,
  PAYOUT,
  payoutData,
  startTestApi,
  STRANGER,
  TEST_NETWORKS,
  TEST_PUBLIC_KEYS,
  type TestApi,
} from './support/test-api.ts';

const CHAIN = 'TRON_TEST';
const USDT = 'TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf';
const USDC = 'TG3XXyExBkPp9nzdajDZsozEu4BkaSJozs';
const RECEIVER = 'TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH';
const HOT_WALLET = TEST_PUBLIC_KEYS.families.TRON.hotWallets[0]!;

const token = (symbol: string, contract: string) => ({
  symbol,
  contract,
  decimals: 6,
  displayDecimals: 2,
  minAmount: '0.01',
  maxAmount: '1000000',
});
const TRON = parseNetworkFile(
  JSON.stringify({
    networks: [
      {
        chain: CHAIN,
        family: 'TRON',
        enabled: true,
        genesisId: '0xcd8690dc',
        name: 'TRON',
        rpcUrls: ['http://127.0.0.1:1'],
        nativeSymbol: 'TRX',
        nativeDecimals: 6,
        confirmations: 'finalized',
        blockTimeMs: 3_000,
        pollIntervalMs: 3_000,
        reorgWindow: 64,
        maxBlockRange: 16,
        tokens: [token('USDT', USDT), token('USDC', USDC)],
      },
    ],
  }),
  'TRON',
);

const { testDatabase, admin } = await openTestDatabase();
let api: TestApi;

beforeAll(async () => {
  const merchant = await aMerchant(admin.kysely, { merchantId: 'shop', rateLimits: NO_LIMITS });
  await aChainCursor(admin.kysely, { chain: CHAIN });
  await aHotWallet(admin.kysely, { chain: CHAIN, amount: 100n * ONE_USDT });
  api = await startTestApi(testDatabase, {
    merchant,
    networks: [...TEST_NETWORKS, ...TRON],
    profile: 'local',
  });
});
afterAll(() => api.stop());

const payOut = async (receiveAddress: string, fields: Record<string, unknown> = {}) =>
  api.post(PAYOUT, payoutData({ chain: CHAIN, receiveAddress, ...fields }));

it('creates a collection with a deposit address of the TRON account', async () => {
  const fields = collectionData({ chain: CHAIN, amount: '12.5' });
  const { data } = await api.post(COLLECTION, fields);
  const { derivation_index: index } = await admin.kysely
    .selectFrom('deposit_address')
    .select('derivation_index')
    .where('family', '=', 'TRON')
    .where('address', '=', data.address)
    .executeTakeFirstOrThrow();
  const deriver = createDepositDeriver(TEST_PUBLIC_KEYS, [tronAddressCodec]);
  expect(data).toMatchObject({
    address: deriver.address('TRON', Number(index)),
    amount: '12.50',
    chain: CHAIN,
  });
  expect((await api.signedGet('pay', data.orderId)).data).toMatchObject({
    address: data.address,
    contractAddress: USDT,
    requiredConfirmations: null,
  });
  const other = await api.post(COLLECTION, collectionData({ chain: CHAIN }));
  expect(other.data.address).not.toBe(data.address);
});

it('sends a payout from the TRON hot wallet only to a foreign TRON address', async () => {
  const { data: collection } = await api.post(COLLECTION, collectionData({ chain: CHAIN }));
  const wrong = [
    STRANGER, // an address of another family
    TEST_PUBLIC_KEYS.families.EVM.hotWallets[0]!,
    HOT_WALLET,
    collection.address,
    USDT,
    USDC,
    'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb', // the zero address
    `${RECEIVER.slice(0, -1)}J`, // a wrong checksum
    '41c8599111f29c1e1e061265b4af93ea1f274ad78a', // the hex of nodes
    ` ${RECEIVER}`,
  ];
  for (const receiveAddress of wrong) {
    const answer = await payOut(receiveAddress);
    expect({ receiveAddress, code: answer.code, msg: answer.msg }).toEqual({
      receiveAddress,
      code: 400,
      msg: 'ReceiveAddress error',
    });
  }
  const { data } = await payOut(RECEIVER, { amount: '25' });
  expect(data).toMatchObject({ address: HOT_WALLET, amount: '25.00', chain: CHAIN, paymentUrl: null });
  expect(await payOut(RECEIVER, { amount: '75.01' })).toMatchObject({
    code: 422,
    msg: 'Insufficient balance',
  });
});

it('is ready only when TRON has a scanner too', async () => {
  const scanner = async () => {
    const { text } = await api.request('GET', '/readyz');
    return (JSON.parse(text) as { checks: { scanner: unknown } }).checks.scanner;
  };
  const [evm, tron] = (['scanner_evm', 'scanner_tron'] as const).map((schema) => {
    const pool = testDatabase.open(schema);
    const announce = () => announcePresence({ db: pool.kysely, schema, instance: `${schema}-1` });
    return { pool, announce };
  });
  const first = evm!.announce();
  // Repeated, since the database may be too slow for a check under load.
  const untilScanners = (ok: boolean, detail: string) =>
    waitUntil(detail, async () => {
      expect(await scanner()).toEqual({ ok, detail });
      return true;
    });
  await untilScanners(false, 'EVM: 1 alive, TRON: 0 alive');
  const second = tron!.announce();
  await untilScanners(true, 'EVM: 1 alive, TRON: 1 alive');
  await Promise.all([first.stop(), second.stop()]);
  await Promise.all([evm!.pool.close(), tron!.pool.close()]);
});
