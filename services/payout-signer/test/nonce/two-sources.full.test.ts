import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { tokenBalance } from '@opentill/devnets/evm/start-evm-devnet';
import { createLyingRpcProxy, type LyingRpcProxy, type RpcCall } from '@opentill/testkit/lying-rpc-proxy';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { checkChain } from './check-chain.ts';
import { createSignerWorld, USDT, type RunningDriver, type SignerWorld } from './signer-world.ts';

/*
 * Two sources are configured, and one of them lies to the signer. It may hold payouts up; it never has one paid twice or
 * wrongly, no nonce given up, and no wallet halted.
 */

type Lie = (call: RpcCall, honest: () => Promise<unknown>) => Promise<unknown>;

let world: SignerWorld;
let proxy: LyingRpcProxy;
let driver: RunningDriver | undefined;
let lie: Lie | undefined;
let told = 0;
const orders: OrderRow[] = [];

beforeAll(async () => {
  world = await createSignerWorld(async (rpcUrl) => {
    proxy = await createLyingRpcProxy({
      upstreamUrl: rpcUrl,
      seed: 1,
      async override(call, honest) {
        const result = await lie?.(call, () => honest(call));
        if (result === undefined) return undefined;
        told += 1;
        return { result };
      },
    });
    return { rpcUrls: [proxy.url, rpcUrl] };
  });
  driver = await world.start({ timing: { aheadHaltAfterMs: 200 } });
  // The first nonce of a wallet needs two sources that agree.
  await world.land([await payout()]);
});
afterEach(() => {
  lie = undefined;
  told = 0;
});
afterAll(async () => {
  await driver?.stop();
  await world.close();
  await proxy.close();
});

async function payout(): Promise<OrderRow> {
  const order = await world.payout();
  orders.push(order);
  return order;
}
const hex = (value: bigint): string => `0x${value.toString(16)}`;
const word = (value: bigint): string => `0x${value.toString(16).padStart(64, '0')}`;
const more = async (honest: () => Promise<unknown>, by: bigint) =>
  hex(BigInt((await honest()) as string) + by);
const NOT_THIS = Promise.resolve(undefined);

const isCount = ({ method, params: [address] }: RpcCall) =>
  method === 'eth_getTransactionCount' && address === world.wallet;
const isTokenBalance = ({ method, params: [call] }: RpcCall) =>
  method === 'eth_call' && (call as { data?: string }).data?.startsWith('0x70a08231') === true;
const balances =
  (coin: bigint, tokens: bigint): Lie =>
  (call) =>
    call.method === 'eth_getBalance'
      ? Promise.resolve(hex(coin))
      : isTokenBalance(call)
        ? Promise.resolve(word(tokens))
        : NOT_THIS;
const gas =
  (estimate: bigint): Lie =>
  ({ method }) =>
    method === 'eth_estimateGas' ? Promise.resolve(hex(estimate)) : NOT_THIS;
const fees =
  (factor: (fee: bigint) => bigint): Lie =>
  async ({ method }, honest) => {
    if (method !== 'eth_feeHistory') return undefined;
    const history = (await honest()) as { baseFeePerGas: string[]; reward?: string[][] };
    const change = (fee: string) => hex(factor(BigInt(fee)));
    return {
      ...history,
      baseFeePerGas: history.baseFeePerGas.map(change),
      ...(history.reward === undefined ? {} : { reward: history.reward.map((row) => row.map(change)) }),
    };
  };

async function areFinal(some: readonly OrderRow[]): Promise<boolean> {
  const nonces = await Promise.all(some.map((order) => world.noncesOf(order)));
  return nonces.every((own) => own.some(({ state }) => state === 'FINAL'));
}

/** Nothing is settled by a lie: no halt, no nonce given up, no transaction that failed, nothing paid otherwise than asked. */
async function nothingWrong(): Promise<void> {
  const { rows } = await sql<{ halts: number; taken: number; failed: number }>`
    select (select count(*)::int from wallet_halt) as halts,
      (select count(*)::int from wallet_nonce where state = 'TAKEN') as taken,
      (select count(*)::int from own_transaction_fate where not succeeded) as failed`.execute(world.admin);
  expect(rows).toEqual([{ halts: 0, taken: 0, failed: 0 }]);
  expect(await checkChain(world, orders)).toEqual({ payouts: orders.length, wrong: [] });
}

test.each<readonly [string, Lie]>([
  ['of no transaction of the wallet, ever', (call) => (isCount(call) ? Promise.resolve('0x0') : NOT_THIS)],
  ['of a gas estimate that is too low', gas(21_001n)],
  ['of a gas estimate above the cap', gas(10_000_000n)],
  ['of base fees and tips a thousand times as high', fees((fee) => fee * 1_000n)],
  ['of base fees and tips of nothing', fees(() => 1n)],
  // Believed for a while; then the chain refutes it.
  [
    'of more transactions in the newest block',
    (call, honest) => (isCount(call) && call.params[1] === 'latest' ? more(honest, 3n) : NOT_THIS),
  ],
  ['of riches', balances(10n ** 30n, 10n ** 30n)],
])('payouts land while a source lies %s', async (_what, given) => {
  lie = given;
  const two = [await payout(), await payout()];
  await world.land(two, 30_000);
  expect(told).toBeGreaterThan(0);
  lie = undefined;
  await nothingWrong();
});

test.each<readonly [string, Lie]>([
  [
    'of more transactions that wait in its pool',
    (call, honest) => (isCount(call) && call.params[1] === 'pending' ? more(honest, 3n) : NOT_THIS),
  ],
  ['of more transactions in every block', (call, honest) => (isCount(call) ? more(honest, 3n) : NOT_THIS)],
  ['of an empty wallet', balances(0n, 0n)],
])('payouts wait or land while a source lies %s, and land when it stops', async (_what, given) => {
  lie = given;
  const two = [await payout(), await payout()];
  await waitUntil(
    'asked often enough, over many blocks',
    async () => {
      await world.mine();
      return told >= 20 || (await areFinal(two));
    },
    30_000,
  );
  lie = undefined;
  await world.land(two, 45_000);
  await nothingWrong();
});

test('riches that are told of do not have signed what the wallet does not hold', async () => {
  const held = await tokenBalance(world.rpcUrl, USDT, world.wallet);
  await callRpc(world.rpcUrl, 'anvil_dealERC20', [world.wallet, USDT, '0x1']);
  lie = balances(10n ** 30n, 10n ** 30n);
  const order = await payout();
  await waitUntil('hindered', async () => (await world.payoutOf(order)).obstacle !== null);
  await waitUntil('asked often enough', async () => {
    await world.mine();
    return told >= 10;
  });
  expect(['NO_TOKENS', 'WOULD_FAIL']).toContain((await world.payoutOf(order)).obstacle);
  expect(await world.transactionsOf(order)).toEqual([]);
  lie = undefined;
  await callRpc(world.rpcUrl, 'anvil_dealERC20', [world.wallet, USDT, hex(held)]);
  await world.land([order], 45_000);
  await nothingWrong();
});
