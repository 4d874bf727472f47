import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { WalletSender } from '@opentill/chain/wallet-sender';
import { evmFamily } from '@opentill/chain-evm/family';
import { openDatabase } from '@opentill/db/database';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { DEV_TOKEN_ADDRESSES, payToken } from '@opentill/devnets/evm/start-evm-devnet';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { newId } from '@opentill/runtime/ids';
import type { OrderRow } from '@opentill/testkit/scenario';
import { planRound } from '../../src/sweeps/plan-round.ts';
import { nonceSweepChain } from '../../src/sweeps/sweep-chain.ts';
import { createSweepStore } from '../../src/sweeps/store/create-store.ts';
import { CHAIN } from '../nonce/signer-world.ts';
import { COLD, sweepTermsOf } from './sweep-policy.ts';
import { createSweepWorld, type SweepWorld } from './sweep-world.ts';

// On EVM chains a transfer to a receiver without a balance costs about a third more gas, because the token contract
// fills an empty storage slot. A hot wallet that paid out everything must still be refilled.

const ONE = 1_000_000n;
const GWEI = 10n ** 9n;
const USDC = DEV_TOKEN_ADDRESSES.USDC.toLowerCase();
/** Above the hot wallet's balance of any token. */
const FLOAT = { float: '2000000' };

let world: SweepWorld;
beforeAll(async () => {
  world = await createSweepWorld();
});
afterAll(async () => {
  await world.close();
});
beforeEach(async () => {
  await give(COLD, ONE);
  expect(await atHot()).toBe(0n);
});
afterEach(async () => {
  await world.stopAll();
});

function atOnePrice(sender: WalletSender): WalletSender {
  const prices = { maxFeePerGas: 3n * GWEI, maxPriorityFeePerGas: GWEI };
  return { ...sender, currentPrices: () => Promise.resolve(prices) };
}

const atHot = () => world.tokensAt(world.signer.wallet, 'USDC');
const sweepsOf = async ({ address }: OrderRow) => {
  const { rows } = await sql<{ state: string; method: string; to: string; reason: string | null }>`
    select state, method, destination_kind as to, reason from sweep where address = ${address} order by planned_at`.execute(
    world.admin,
  );
  return rows;
};
const isDone = async (order: OrderRow) => (await sweepsOf(order)).some(({ state }) => state === 'DONE');

async function give(address: string, amountBaseUnits: bigint): Promise<void> {
  const { rpcUrl } = world.signer;
  const fromKey = devAccount(1).privateKey;
  await payToken({ rpcUrl, token: USDC, fromKey, to: address, amountBaseUnits });
  await world.signer.mine();
}

const giveCoin = ({ address }: OrderRow) =>
  callRpc(world.signer.rpcUrl, 'anvil_setBalance', [address, '0x2386f26fc10000']);

async function payOutAll(): Promise<void> {
  const { signer } = world;
  const amount = await atHot();
  const terms = { symbol: 'USDC', contract_address: USDC, amount, accepted_amount: amount };
  const payout = await signer.payout(terms);
  const driver = await signer.start();
  await signer.land([payout]);
  await driver.stop();
  expect(await atHot()).toBe(0n);
}

test.each([
  ['with coin on its address', true, ['FREE']],
  ['with a coin top-up', false, ['TOP_UP']],
])(
  'refills an empty hot wallet by a sweep %s',
  async (_, hasCoin, methods) => {
    const order = await world.paid(50n * ONE, 'USDC');
    if (hasCoin) await giveCoin(order);
    const signer = await world.start({ asset: FLOAT, sender: atOnePrice });
    await world.mineUntil('it is swept', () => isDone(order));
    expect(await sweepsOf(order)).toEqual(
      methods.map((method) => ({ state: 'DONE', method, to: 'HOT', reason: null })),
    );
    expect(await atHot()).toBe(50n * ONE);
    await signer.stop();
    await payOutAll();
  },
  120_000,
);

test('refills by a sweep planned before the wallet was emptied, at the current price', async () => {
  const { signer, admin } = world;
  await give(signer.wallet, 5n * ONE);
  await sql`select book_top_up('given', ${CHAIN}, 'USDC', ${5n * ONE})`.execute(admin);
  const order = await world.paid(50n * ONE, 'USDC');
  await giveCoin(order);
  await planOnce();
  expect(await sweepsOf(order)).toEqual([{ state: 'OPEN', method: 'FREE', to: 'HOT', reason: null }]);
  await payOutAll();
  const running = await world.start({ asset: FLOAT, sender: atOnePrice });
  const obstacle = async () => {
    const { rows } = await sql<{ obstacle: string | null }>`
      select obstacle from payout where wallet = ${order.address}`.execute(admin);
    return rows[0]?.obstacle;
  };
  await world.mineUntil('it costs more than planned', async () => (await obstacle()) === 'FEES_ABOVE_CAP');
  await sql`update payout set expires_at = now() - interval '1 second' where wallet = ${order.address}`.execute(
    admin,
  );
  await sql`select expire_payouts(array(select order_pk from payout where wallet = ${order.address}))`.execute(
    admin,
  );
  await sql`update payout set updated_at = now() - interval '1 hour' where wallet = ${order.address}`.execute(
    admin,
  );
  await world.mineUntil('it is swept', () => isDone(order));
  expect(await sweepsOf(order)).toEqual([
    { state: 'ABANDONED', method: 'FREE', to: 'HOT', reason: 'fees are above what may be paid' },
    { state: 'DONE', method: 'FREE', to: 'HOT', reason: null },
  ]);
  await running.stop();
  expect(await atHot()).toBe(50n * ONE);
  await payOutAll();
});

async function planOnce(): Promise<void> {
  const { signer, admin } = world;
  const { network } = signer;
  const lease = { name: 'sweeps/once', fencingToken: 1, holder: 'test' };
  await sql`insert into signer.lease (name, holder, fencing_token, expires_at)
    values (${lease.name}, 'test', 1, now() + interval '1 hour')`.execute(admin);
  const db = openDatabase({ url: signer.database.url('signer'), applicationName: 'planner', poolMax: 2 });
  const nothing = () => undefined;
  const deps = {
    network,
    codec: evmFamily.addressCodec,
    wallet: signer.wallet as Address,
    policy: sweepTermsOf(network, { asset: FLOAT }),
    gasReserveBaseUnits: 0n,
    energyWaitMs: 0,
    store: createSweepStore(db.kysely, CHAIN, { newId, nativeSymbol: 'ETH' }),
    chain: nonceSweepChain(atOnePrice(signer.newSender())),
    isDepositAddress: () => true,
    observe: { planned: nothing, stepped: nothing, ordered: nothing },
    readClocks: () => Promise.resolve(undefined),
    onMovement: nothing,
  };
  await planRound(deps, { after: undefined }, lease, new AbortController().signal);
  await db.close();
}
