import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { tokenBalance } from '@opentill/devnets/evm/start-evm-devnet';
import {
  createByzantineRpcProxy,
  type ByzantineRpcProxy,
  type RpcCall,
} from '@opentill/testkit/byzantine-rpc-proxy';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { checkChain } from './check-chain.ts';
import { createSignerWorld, USDT, type RunningDriver, type SignerWorld } from './signer-world.ts';

// Wrong answers of one source may delay payouts, but never cause a double or wrong payment, an abandoned nonce, or a
// halt.

type Tampering = (call: RpcCall, honest: () => Promise<unknown>) => Promise<unknown>;

let world: SignerWorld;
let proxy: ByzantineRpcProxy;
let driver: RunningDriver | undefined;
let tampering: Tampering | undefined;
let wrongAnswers = 0;
const orders: OrderRow[] = [];

beforeAll(async () => {
  world = await createSignerWorld(async (rpcUrl) => {
    proxy = await createByzantineRpcProxy({
      upstreamUrl: rpcUrl,
      seed: 1,
      async override(call, honest) {
        const result = await tampering?.(call, () => honest(call));
        if (result === undefined) return undefined;
        wrongAnswers += 1;
        return { result };
      },
    });
    return { rpcUrls: [proxy.url, rpcUrl] };
  });
  driver = await world.start({ timing: { aheadHaltAfterMs: 200 } });
  // The first nonce of a wallet needs two agreeing sources.
  await world.land([await payout()]);
});
afterEach(() => {
  tampering = undefined;
  wrongAnswers = 0;
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
  (coin: bigint, tokens: bigint): Tampering =>
  (call) =>
    call.method === 'eth_getBalance'
      ? Promise.resolve(hex(coin))
      : isTokenBalance(call)
        ? Promise.resolve(word(tokens))
        : NOT_THIS;
const gas =
  (estimate: bigint): Tampering =>
  ({ method }) =>
    method === 'eth_estimateGas' ? Promise.resolve(hex(estimate)) : NOT_THIS;
const fees =
  (factor: (fee: bigint) => bigint): Tampering =>
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

async function expectNoHarm(): Promise<void> {
  const { rows } = await sql<{ halts: number; taken: number; failed: number }>`
    select (select count(*)::int from wallet_halt) as halts,
      (select count(*)::int from wallet_nonce where state = 'TAKEN') as taken,
      (select count(*)::int from own_transaction_fate where not succeeded) as failed`.execute(world.admin);
  expect(rows).toEqual([{ halts: 0, taken: 0, failed: 0 }]);
  expect(await checkChain(world, orders)).toEqual({ payouts: orders.length, wrong: [] });
}

test.each<readonly [string, Tampering]>([
  ['reports no transactions of the wallet', (call) => (isCount(call) ? Promise.resolve('0x0') : NOT_THIS)],
  ['reports too low a gas estimate', gas(21_001n)],
  ['reports a gas estimate above the cap', gas(10_000_000n)],
  ['reports base fees and tips a thousand times too high', fees((fee) => fee * 1_000n)],
  ['reports base fees and tips of 1 wei', fees(() => 1n)],
  // Accepted for a while, until the chain disproves it.
  [
    'reports more transactions in the newest block',
    (call, honest) => (isCount(call) && call.params[1] === 'latest' ? more(honest, 3n) : NOT_THIS),
  ],
  ['overstates the balances', balances(10n ** 30n, 10n ** 30n)],
])('lands payouts while a source %s', async (_what, given) => {
  tampering = given;
  const two = [await payout(), await payout()];
  await world.land(two);
  expect(wrongAnswers).toBeGreaterThan(0);
  tampering = undefined;
  await expectNoHarm();
});

test.each<readonly [string, Tampering]>([
  [
    'reports more pending transactions',
    (call, honest) => (isCount(call) && call.params[1] === 'pending' ? more(honest, 3n) : NOT_THIS),
  ],
  [
    'reports more transactions in every block',
    (call, honest) => (isCount(call) ? more(honest, 3n) : NOT_THIS),
  ],
  ['reports an empty wallet', balances(0n, 0n)],
])('delays payouts at most while a source %s, and lands them when it stops', async (_what, given) => {
  tampering = given;
  const two = [await payout(), await payout()];
  await waitUntil(
    'asked often enough, over many blocks',
    async () => {
      await world.mine();
      return wrongAnswers >= 20 || (await areFinal(two));
    },
    30_000,
  );
  tampering = undefined;
  await world.land(two);
  await expectNoHarm();
});

test('does not overdraw when one source overstates the balance', async () => {
  const held = await tokenBalance(world.rpcUrl, USDT, world.wallet);
  await callRpc(world.rpcUrl, 'anvil_dealERC20', [world.wallet, USDT, '0x1']);
  tampering = balances(10n ** 30n, 10n ** 30n);
  const order = await payout();
  await waitUntil('an obstacle', async () => (await world.payoutOf(order)).obstacle !== null);
  await waitUntil('asked often enough', async () => {
    await world.mine();
    return wrongAnswers >= 10;
  });
  expect(['NO_TOKENS', 'WOULD_FAIL']).toContain((await world.payoutOf(order)).obstacle);
  expect(await world.transactionsOf(order)).toEqual([]);
  tampering = undefined;
  await callRpc(world.rpcUrl, 'anvil_dealERC20', [world.wallet, USDT, hex(held)]);
  await world.land([order]);
  await expectNoHarm();
});
