import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import { startTronDevnet, type TronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import { createByzantineTronProxy } from '@opentill/testkit/byzantine-tron-proxy';
import { createTronStateReader } from '../src/read-state.ts';
import { networkOf } from './tron-harness.ts';

const LAG = 3;
const HOLDER = 'TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH' as Address;
let devnet: TronDevnet;
let other: TronDevnet;
let usdt: TokenContract;

beforeAll(async () => {
  [devnet, other] = await Promise.all([
    startTronDevnet({ blockTimeMs: 0, solidLagBlocks: LAG }),
    startTronDevnet({ blockTimeMs: 0, solidLagBlocks: LAG }),
  ]);
  usdt = devnet.tokens.USDT as TokenContract;
});
afterAll(async () => {
  await Promise.all([devnet.close(), other.close()]);
});

async function ask(method: string, body: object): Promise<{ balance?: number; frozenV2?: unknown }> {
  const answer = await fetch(`${devnet.url}/wallet/${method}`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  return (await answer.json()) as { balance?: number; frozenV2?: unknown };
}

const holdings = () => [
  { holder: HOLDER, contract: null },
  { holder: HOLDER, contract: usdt },
];
const agreed = (...values: readonly bigint[]) => values.map((value) => ({ kind: 'AGREED', value }));

test('counts a payment once its block is solid and returns zero for an unused address', async () => {
  const reader = createTronStateReader(networkOf(devnet, [devnet.tokens.USDT]));
  expect((await reader.solidBalances(holdings())).balances).toEqual(agreed(0n, 0n));
  await devnet.control.fund(HOLDER, { trxSun: 5_000_000n, symbol: 'USDT', amountBaseUnits: 12n });
  expect((await reader.solidBalances(holdings())).balances).toEqual(agreed(0n, 0n));
  await devnet.control.mine(LAG);
  const { from, to, balances } = await reader.solidBalances(holdings());
  expect(balances).toEqual(agreed(5_000_000n, 12n));
  const { solid } = devnet.control.summary();
  expect([from.height, to.height]).toEqual([solid, solid]);
  expect(from.hash).toBe(to.hash);
});

test('counts staked coin for its owner, also while it is delegated', async () => {
  const reader = createTronStateReader(networkOf(devnet, [devnet.tokens.USDT]));
  await devnet.control.stake(HOLDER, 3_000_000n);
  expect((await reader.solidBalances(holdings())).balances).toEqual(agreed(5_000_000n, 12n));
  const { balance, frozenV2 } = await ask('getaccount', { address: HOLDER, visible: true });
  expect([balance, frozenV2]).toEqual([
    2_000_000,
    expect.arrayContaining([{ type: 'ENERGY', amount: 3_000_000 }]),
  ]);
  // A reorganisation does not bring it back, because no transaction was signed.
  await devnet.control.reorganise(1);
  expect((await ask('getaccount', { address: HOLDER, visible: true })).balance).toBe(2_000_000);
});

test('returns the range of blocks that were mined during the reads', async () => {
  const before = devnet.control.summary().solid;
  const mined = Promise.withResolvers<void>();
  // No balance is returned before the blocks are mined.
  const proxy = await createByzantineTronProxy({
    upstreamUrl: devnet.url,
    seed: 1,
    async override({ method }) {
      if (method === 'triggerconstantcontract') await mined.promise;
      return undefined;
    },
  });
  const network = networkOf(devnet, [devnet.tokens.USDT], { rpcUrls: [proxy.url] });
  const reading = createTronStateReader(network, { requestTimeoutMs: 20_000 }).solidBalances(holdings());
  await devnet.control.mine(2);
  mined.resolve();
  const { from, to } = await reading;
  await proxy.close();
  expect(to.height).toBe(before + 2);
  expect(from.height).toBeGreaterThanOrEqual(before);
});

test('returns both values when two nodes differ', async () => {
  const two = networkOf(devnet, [devnet.tokens.USDT], { rpcUrls: [devnet.url, other.url] });
  const { balances } = await createTronStateReader(two).solidBalances(holdings());
  expect(balances[1]).toEqual({
    kind: 'DISPUTED',
    said: expect.arrayContaining([
      { label: new URL(devnet.url).host, value: 12n },
      { label: new URL(other.url).host, value: 0n },
    ]),
  });
});

test('fails for a contract that does not exist instead of returning zero', async () => {
  const reader = createTronStateReader(networkOf(devnet, [devnet.tokens.USDT]));
  const noContract = [{ holder: HOLDER, contract: HOLDER as string as TokenContract }];
  await expect(reader.solidBalances(noContract)).rejects.toMatchObject({ code: expect.any(String) });
});
