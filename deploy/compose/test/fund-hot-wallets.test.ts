import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { readNetworkFile } from '@opentill/contracts/read-network-file';
import { startTronDevnet, type TronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import { addressOfKey, toBase58 } from '@opentill/devnets/tron/tron-address';
import { tronBalance, tronTokenBalance } from '@opentill/devnets/tron/payments';
import { aChainCursor } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { fundHotWallets, type Funded } from '../src/fund-hot-wallets.ts';

const NETWORKS = join(import.meta.dirname, '../../networks/local.json');
const HOT_WALLET = 'TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH';
const LONG_MS = 120_000;

const { admin, open } = await openTestDatabase();
const ops = open('ops');
let node: TronDevnet;
let tron: NetworkConfig;
let unread: NetworkConfig;

beforeAll(async () => {
  node = await startTronDevnet({ blockTimeMs: 100, solidLagBlocks: 3 });
  const networks = await readNetworkFile(NETWORKS, { TRON_TEST_RPC_URLS: node.url });
  const named = (chain: string) => networks.find((network) => network.chain === chain)!;
  [tron, unread] = [named('TRON_TEST'), named('BSC_TEST')];
});
afterAll(() => node.close());

const funded: Funded[] = [];
const fund = async (networks: readonly NetworkConfig[], deadlineMs: number, hotWallet = HOT_WALLET) =>
  fundHotWallets({
    db: ops.kysely,
    networks,
    hotWalletOf: () => hotWallet,
    deadlineMs,
    onFunded: (one) => funded.push(one),
  });
const balances = async (wallet = HOT_WALLET) => [
  await tronBalance(node.url, wallet),
  ...(await Promise.all(
    Object.values(node.tokens).map((token) => tronTokenBalance(node.url, token, wallet)),
  )),
];
const GIFTS = ['1000 TRX', '1000000 USDT', '1000000 USDC'];
const SENT = [1_000n * 10n ** 6n, 1_000_000n * 10n ** 6n, 1_000_000n * 10n ** 6n];

test('does not fund a chain without a scanner, where transfers are never seen', async () => {
  await expect(fund([tron, unread], 0)).rejects.toMatchObject({
    code: 'CHAINS_NOT_FOLLOWED',
    message: 'No scanner reads TRON_TEST, BSC_TEST.',
  });
  expect(await balances()).toEqual([0n, 0n, 0n]);
});

test('sends coin, booked for fees, and tokens once a scanner reads the chain', async () => {
  const funding = fund([tron], LONG_MS);
  await aChainCursor(admin.kysely, { chain: 'TRON_TEST' });
  await funding;
  expect(funded).toEqual([{ chain: 'TRON_TEST', hotWallet: HOT_WALLET, sent: GIFTS }]);
  expect(await balances()).toEqual(SENT);
  const gas = await admin.kysely
    .selectFrom('ledger_account')
    .select(['chain', 'symbol', 'balance'])
    .where('kind', '=', 'HOT_GAS')
    .execute();
  expect(gas).toEqual([{ chain: 'TRON_TEST', symbol: 'TRX', balance: SENT[0] }]);
});

test.each(['before', 'after'])('funds a chain although the chain %s it has no scanner', async (place) => {
  funded.length = 0;
  const wallet = toBase58(addressOfKey(randomBytes(32)));
  const funding = fund(place === 'before' ? [unread, tron] : [tron, unread], 0, wallet);
  await expect(funding).rejects.toMatchObject({ message: 'No scanner reads BSC_TEST.' });
  expect(funded).toEqual([{ chain: 'TRON_TEST', hotWallet: wallet, sent: GIFTS }]);
  expect(await balances(wallet)).toEqual(SENT);
});

test('skips a wallet that has tokens', async () => {
  funded.length = 0;
  await fund([tron], LONG_MS);
  expect(funded).toEqual([{ chain: 'TRON_TEST', hotWallet: HOT_WALLET, sent: [] }]);
  expect(await balances()).toEqual(SENT);
});
