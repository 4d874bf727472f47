import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { headHeight, reorg } from '@opentill/devnets/evm/start-evm-devnet';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { createMetrics } from '@opentill/runtime/metrics';
import { CHAIN } from '../nonce/signer-world.ts';
import { watchHeldAssets } from './held-assets.ts';
import { COLD, createSweepWorld, type SweepWorld } from './sweep-world.ts';

// No fee is spent on money that cannot move, other sweeps continue, and it moves as soon as possible.

const ONE = 1_000_000n;
const GWEI = 10n ** 9n;

let world: SweepWorld;
beforeAll(async () => {
  world = await createSweepWorld();
});
afterAll(async () => {
  await world.close();
});
afterEach(async () => {
  await world.stopAll();
});

const { issuer, isDone, moves, waiting, obstaclesOf, passTimeOf, waitForMove } = watchHeldAssets(() => world);

describe('token of a sweep', () => {
  test('keeps a sweep without a fee while its token is paused, then sweeps', async () => {
    const held = await world.paid(50n * ONE, 'USDC');
    await issuer('pause');
    const other = await world.paid(20n * ONE);
    const metrics = createMetrics('payout-signer');
    const signer = await world.start({ metrics });
    await world.mineUntil('the other is swept', () => isDone(other));
    await world.mineUntil('it waits', async () => (await waiting())['WOULD_FAIL'] === 1);
    expect(await metrics.render()).toMatch(
      /^opentill_signer_sweeps_waiting_count\{.*reason="WOULD_FAIL".*\} 1$/m,
    );
    expect(await moves(held)).toEqual([]);
    expect(await world.coinAt(held.address)).toBe(0n);
    await issuer('unpause');
    await world.mineUntil('it is swept', () => isDone(held));
    await signer.stop();
    expect(await world.tokensAt(COLD, 'USDC')).toBe(50n * ONE);
    expect(await moves(held)).toEqual(['GAS_TOP_UP PAID_OUT', 'SWEEP PAID_OUT']);
  });

  test('needs no second fee when the token is paused after the top-up', async () => {
    const before = await world.tokensAt(COLD, 'USDC');
    const held = await world.paid(30n * ONE, 'USDC');
    const signer = await world.start({ sweep: { batchSize: 1 } });
    await world.mineUntil('the fee is on its way', async () => (await moves(held)).length > 0);
    await issuer('pause');
    await world.mineUntil('the sweep waits', async () => (await obstaclesOf(held)).includes('WOULD_FAIL'));
    const coin = await world.coinAt(held.address);
    for (let round = 0; round < 10; round += 1) await world.signer.mine();
    expect(await moves(held)).toEqual(['GAS_TOP_UP PAID_OUT', 'SWEEP RESERVED']);
    expect(await world.coinAt(held.address)).toBe(coin);
    // Its time is over: its slot is free, and the coin stays on the address.
    await passTimeOf(held);
    await world.mineUntil('the sweep is abandoned', async () => {
      return (await world.sweepsOf(held))[0]?.state === 'ABANDONED';
    });
    expect(await world.sweepsOf(held)).toMatchObject([{ reason: 'the chain would refuse the transfer' }]);
    expect(await moves(held)).toEqual(['GAS_TOP_UP PAID_OUT', 'SWEEP RELEASED']);
    const other = await world.paid(20n * ONE);
    await world.mineUntil('another has its place', () => isDone(other));
    await world.mineUntil('its money waits', async () => ((await waiting())['WOULD_FAIL'] ?? 0) === 1);
    expect(await world.coinAt(held.address)).toBe(coin);
    await issuer('unpause');
    await world.mineUntil('it is swept', () => isDone(held));
    await signer.stop();
    expect((await world.tokensAt(COLD, 'USDC')) - before).toBe(30n * ONE);
    expect((await moves(held)).filter((move) => move.startsWith('GAS_TOP_UP'))).toEqual([
      'GAS_TOP_UP PAID_OUT',
    ]);
    expect((await world.sweepsOf(held)).map(({ method }) => method)).toEqual(['TOP_UP', 'FREE']);
  });

  test('retries a sweep that failed because its token was paused meanwhile', async () => {
    const before = await world.tokensAt(COLD, 'USDC');
    const held = await world.paid(40n * ONE, 'USDC');
    const signer = await world.start();
    await world.mineUntil('the fee is there', async () => (await moves(held))[0] === 'GAS_TOP_UP PAID_OUT');
    // Not mined yet. The pause precedes it in the next block.
    await waitForMove(held, 'SWEEP IN_FLIGHT');
    await callRpc(world.signer.rpcUrl, 'anvil_dropAllTransactions', []);
    await issuer('pause');
    await world.mineUntil('it failed', async () => (await moves(held))[1] === 'SWEEP RETURNED');
    await issuer('unpause');
    await sql`update payout set updated_at = now() - interval '1 hour' where wallet = ${held.address} and money = 'RETURNED'`.execute(
      world.admin,
    );
    await world.mineUntil('it is swept', () => isDone(held));
    await signer.stop();
    expect((await world.tokensAt(COLD, 'USDC')) - before).toBe(40n * ONE);
    expect((await moves(held)).filter((move) => move === 'SWEEP PAID_OUT')).toHaveLength(1);
    const topUps = (await moves(held)).filter((move) => move === 'GAS_TOP_UP PAID_OUT').length;
    expect(topUps).toBeLessThanOrEqual((await world.sweepsOf(held)).length);
  });

  test('delays only the address that the issuer blocked', async () => {
    const blocked = await world.paid(70n * ONE, 'USDC');
    await issuer('blacklist', blocked.address);
    const other = await world.paid(10n * ONE, 'USDC');
    const signer = await world.start();
    await world.mineUntil('the other is swept', () => isDone(other));
    await world.mineUntil('it waits', async () => (await waiting())['WOULD_FAIL'] === 1);
    expect(await moves(blocked)).toEqual([]);
    expect(await world.coinAt(blocked.address)).toBe(0n);
    await issuer('unBlacklist', blocked.address);
    await world.mineUntil('it is swept', () => isDone(blocked));
    await signer.stop();
  });
});

describe('rising fees', () => {
  const setBaseFee = (gwei: bigint) =>
    callRpc(world.signer.rpcUrl, 'anvil_setNextBlockBaseFeePerGas', [`0x${(gwei * GWEI).toString(16)}`]);

  test("delays all sweeps while the gas price is above the policy's", async () => {
    const order = await world.paid(25n * ONE);
    await setBaseFee(200n);
    await world.signer.mine();
    const signer = await world.start({ sweep: { maxGasPrice: '150' } });
    await world.signer.scannerAtHead();
    await waitUntilReason('GAS_PRICE');
    expect(await moves(order)).toEqual([]);
    await setBaseFee(1n);
    await world.mineUntil('it is swept', () => isDone(order));
    await signer.stop();
  });

  test('delays sweeps that would cost too much of their amount', async () => {
    const order = await world.paid(3_000n); // less than a cent
    await setBaseFee(400n);
    await world.signer.mine();
    const signer = await world.start({ sweep: { maxCostShare: '0.01' } });
    await waitUntilReason('COST_SHARE');
    expect(await moves(order)).toEqual([]);
    await signer.stop();
    await setBaseFee(1n);
    await world.signer.mine();
    await sql`update deposit_balance set swept = received where address = ${order.address}`.execute(
      world.admin,
    ); // excluded from later tests
  });

  test('keeps a sweep in flight unchanged when fees rise beyond its coin', async () => {
    const order = await world.paid(35n * ONE);
    const signer = await world.start({ timing: { bumpAfterMs: 100 } });
    await world.mineUntil('the fee is there', async () => (await moves(order))[0] === 'GAS_TOP_UP PAID_OUT');
    await waitForMove(order, 'SWEEP IN_FLIGHT');
    const coin = await world.coinAt(order.address);
    const before = await headHeight(world.signer.rpcUrl);
    for (let block = 0; block < 12; block += 1) {
      await setBaseFee(300n);
      await world.signer.mine();
      await world.signer.scannerAtHead();
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
    expect(await headHeight(world.signer.rpcUrl)).toBe(before + 12);
    const { rows } = await sql<{ fee: bigint; nonce: number }>`
      select (fee_terms ->> 'gasLimit')::numeric * (fee_terms ->> 'maxFeePerGas')::numeric as fee, nonce
      from own_transaction where wallet = ${order.address} order by signed_at`.execute(world.admin);
    expect(rows.every(({ nonce, fee }) => nonce === 0 && fee <= coin)).toBe(true);
    await setBaseFee(1n);
    await world.mineUntil('it is swept', () => isDone(order));
    await signer.stop();
    expect(await moves(order)).toEqual(['GAS_TOP_UP PAID_OUT', 'SWEEP PAID_OUT']);
  });

  async function waitUntilReason(reason: string): Promise<void> {
    const endMs = Date.now() + 20_000;
    while (((await waiting())[reason] ?? 0) === 0) {
      if (Date.now() > endMs) throw new Error(`${reason}: ${JSON.stringify(await waiting())}`);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }
});

test('sends a sweep again after a reorganisation of a final block, and counts it once', async () => {
  const before = await world.tokensAt(COLD);
  const order = await world.paid(21n * ONE);
  const ground = await headHeight(world.signer.rpcUrl);
  const signer = await world.start();
  await world.mineUntil('it is swept', () => isDone(order));
  const depth = (await headHeight(world.signer.rpcUrl)) - ground;
  await reorg({ rpcUrl: world.signer.rpcUrl, depth });
  expect((await world.tokensAt(COLD)) - before).toBe(0n);
  await world.mineUntil(
    'the reorganisation is seen',
    async () => (await moves(order))[1] === 'SWEEP IN_FLIGHT',
  );
  await world.mineUntil('it is mined again', async () => (await moves(order))[1] === 'SWEEP PAID_OUT');
  await signer.stop();
  expect(await moves(order)).toEqual(['GAS_TOP_UP PAID_OUT', 'SWEEP PAID_OUT']);
  expect((await world.tokensAt(COLD)) - before).toBe(21n * ONE);
  expect(
    Number(await callRpc<string>(world.signer.rpcUrl, 'eth_getTransactionCount', [order.address, 'latest'])),
  ).toBe(1);
});

test('sweeps an address whose key was used elsewhere, without a halt', async () => {
  const { rpcUrl } = world.signer;
  const order = await world.paid(16n * ONE);
  await sql`insert into wallet_nonce (chain, wallet, nonce, state) values (${CHAIN}, ${order.address}, 0, 'TAKEN')`.execute(
    world.admin,
  );
  await callRpc(rpcUrl, 'anvil_setBalance', [order.address, '0xde0b6b3a7640000']);
  await callRpc(rpcUrl, 'anvil_impersonateAccount', [order.address]);
  for (let times = 0; times < 3; times += 1)
    await callRpc(rpcUrl, 'eth_sendTransaction', [{ from: order.address, to: order.address, value: '0x0' }]);
  const signer = await world.start();
  await world.mineUntil('it is swept', () => isDone(order));
  await signer.stop();
  const { rows } = await sql<{ nonce: number; state: string }>`
    select nonce, state from wallet_nonce where wallet = ${order.address} order by nonce`.execute(
    world.admin,
  );
  expect(rows.map(({ nonce, state }) => `${nonce} ${state}`)).toEqual([
    '0 TAKEN',
    '1 TAKEN',
    '2 TAKEN',
    '3 FINAL',
  ]);
  const { rows: halts } = await sql`select from wallet_halt where wallet = ${order.address}`.execute(
    world.admin,
  );
  expect(halts).toEqual([]);
});

test("completes an operator's request after all batches of what was there", async () => {
  const young = await world.paidMany([11n * ONE, 12n * ONE, 13n * ONE, 14n * ONE, 15n * ONE]);
  const signer = await world.start({ sweep: { minAgeMinutes: 60, batchSize: 2 } });
  await world.mineUntil('they wait', async () => (await waiting())['TOO_YOUNG'] === 5);
  await sql`insert into sweep_request (chain, operator) values (${CHAIN}, 'test')`.execute(world.admin);
  const later = await world.paid(9n * ONE);
  await world.mineUntil(
    'all is swept',
    async () => (await Promise.all(young.map((order) => isDone(order)))).every(Boolean),
    60_000,
  );
  const request = async () => {
    const { rows } = await sql<{ planned: number | null }>`
      select planned from sweep_request where chain = ${CHAIN} order by request_id desc limit 1`.execute(
      world.admin,
    );
    return rows[0]?.planned;
  };
  await world.mineUntil('the request is handled', async () => (await request()) === 5);
  await signer.stop();
  expect(await moves(later)).toEqual([]);
});
