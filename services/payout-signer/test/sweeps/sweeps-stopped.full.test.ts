import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { createMetrics } from '@opentill/runtime/metrics';
import type { OrderRow } from '@opentill/testkit/scenario';
import { CHAIN } from '../nonce/signer-world.ts';
import { watchHeldAssets } from './held-assets.ts';
import { COLD, createSweepWorld, type SweepWorld } from './sweep-world.ts';

// No forbidden sweep starts, started ones end or wait, no fee is sent twice, other sweeps continue, and all move once
// allowed.

const ONE = 1_000_000n;

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

const { issuer, isDone, moves, waiting, obstaclesOf, passTimeOf, waitForMove, rounds } = watchHeldAssets(
  () => world,
);
const topUps = async (order: OrderRow) =>
  (await moves(order)).filter((move) => move.startsWith('GAS_TOP_UP')).length;

describe('paused sweeps', () => {
  /** Like `opentill sweep pause`. */
  const pause = () =>
    sql`insert into sweep_pause (chain, operator, reason) values (${CHAIN}, 'test', 'look first')`.execute(
      world.admin,
    );
  const resume = () => sql`delete from sweep_pause where chain = ${CHAIN}`.execute(world.admin);
  const requests = async () => {
    const { rows } = await sql<{ planned: number | null }>`
      select planned from sweep_request where chain = ${CHAIN} order by request_id`.execute(world.admin);
    return rows.map(({ planned }) => planned);
  };

  test('finishes started sweeps and starts none while paused, even on request', async () => {
    const begun = await world.paid(31n * ONE);
    const signer = await world.start({ sweep: { minAgeMinutes: 60 } });
    await sql`insert into sweep_request (chain, operator) values (${CHAIN}, 'test')`.execute(world.admin);
    await waitForMove(begun, 'GAS_TOP_UP IN_FLIGHT');
    await world.mineUntil('that is handled', async () => (await requests())[0] === 1);
    await pause();
    const later = await world.paid(32n * ONE);
    await sql`insert into sweep_request (chain, operator) values (${CHAIN}, 'test')`.execute(world.admin);
    await world.mineUntil('the started sweep is done', () => isDone(begun));
    expect(await moves(begun)).toEqual(['GAS_TOP_UP PAID_OUT', 'SWEEP PAID_OUT']);
    await rounds(5);
    const { rows } = await sql<{ address: string }>`
      select jsonb_array_elements(plan -> 'begin') ->> 'address' as address from sweep_plan where chain = ${CHAIN}`.execute(
      world.admin,
    );
    expect(rows.map(({ address }) => address)).toEqual([later.address]);
    expect(await world.sweepsOf(later)).toEqual([]);
    expect(await world.coinAt(later.address)).toBe(0n);
    expect(await requests()).toEqual([1, null]);
    await resume();
    await world.mineUntil('the rest is swept', () => isDone(later));
    await world.mineUntil('the request is handled', async () => (await requests())[1] === 1);
    await signer.stop();
    expect(await world.tokensAt(COLD)).toBe(63n * ONE);
  });

  test('keeps sweeps paused for a new planner', async () => {
    const before = await world.tokensAt(COLD);
    await pause();
    const order = await world.paid(33n * ONE);
    for (let time = 0; time < 2; time += 1) {
      const signer = await world.start();
      await rounds(3);
      await signer.stop();
    }
    expect(await world.sweepsOf(order)).toEqual([]);
    await resume();
    await world.start();
    await world.mineUntil('it is swept', () => isDone(order));
    expect((await world.tokensAt(COLD)) - before).toBe(33n * ONE);
  });
});

describe('asset on hold', () => {
  const hold = () =>
    sql`insert into asset_hold (hold_id, chain, symbol, reason, set_at)
      values (gen_random_uuid(), ${CHAIN}, 'USDC', 'looked at', now())`.execute(world.admin);
  const release = () =>
    sql`update asset_hold set released_at = now(), released_by = 'test' where chain = ${CHAIN}`.execute(
      world.admin,
    );

  test('delays a sweep when its asset is held before the start', async () => {
    const held = await world.paid(15n * ONE, 'USDC');
    await hold();
    const signer = await world.start();
    await world.mineUntil('it waits', async () => (await waiting())['ASSET_HELD'] === 1);
    expect(await moves(held)).toEqual([]);
    await release();
    await world.mineUntil('it is swept', () => isDone(held));
    await signer.stop();
  });

  test('delays a sweep when its asset is held after the fee, and reuses the fee', async () => {
    const before = await world.tokensAt(COLD, 'USDC');
    const held = await world.paid(16n * ONE, 'USDC');
    await world.start();
    await waitForMove(held, 'GAS_TOP_UP IN_FLIGHT');
    await hold();
    const other = await world.paid(17n * ONE);
    await world.mineUntil('another is swept', () => isDone(other));
    await rounds(5);
    expect(await moves(held)).toEqual(['GAS_TOP_UP PAID_OUT']);
    expect((await world.sweepsOf(held)).map(({ state }) => state)).toEqual(['OPEN']);
    expect(await world.tokensAt(held.address, 'USDC')).toBe(16n * ONE);
    await release();
    await world.mineUntil('it is swept', () => isDone(held));
    expect(await moves(held)).toEqual(['GAS_TOP_UP PAID_OUT', 'SWEEP PAID_OUT']);
    expect((await world.tokensAt(COLD, 'USDC')) - before).toBe(16n * ONE);
  });

  test('delays a sweep when its asset is held before its signature, and reuses the fee', async () => {
    const before = await world.tokensAt(COLD, 'USDC');
    const held = await world.paid(18n * ONE, 'USDC');
    await world.start();
    await waitForMove(held, 'GAS_TOP_UP IN_FLIGHT');
    await issuer('pause');
    await world.mineUntil('it cannot be signed', async () => (await obstaclesOf(held))[0] === 'WOULD_FAIL');
    await hold();
    await issuer('unpause');
    await world.mineUntil('it is held', async () => (await obstaclesOf(held))[0] === 'ASSET_HELD');
    await rounds(5);
    expect(await moves(held)).toEqual(['GAS_TOP_UP PAID_OUT', 'SWEEP RESERVED']);
    // Held longer than it may be tried: its slot is free, its coin stays on the address.
    await passTimeOf(held);
    await world.mineUntil('the sweep is abandoned', async () => {
      return (await world.sweepsOf(held))[0]?.state === 'ABANDONED';
    });
    expect(await world.sweepsOf(held)).toMatchObject([{ reason: 'its asset is on hold' }]);
    await release();
    await world.mineUntil('it is swept', () => isDone(held));
    expect(await topUps(held)).toBe(1);
    expect((await moves(held)).filter((move) => move === 'SWEEP PAID_OUT')).toHaveLength(1);
    expect((await world.tokensAt(COLD, 'USDC')) - before).toBe(18n * ONE);
  });
});

describe('blocked cold storage', () => {
  let before: bigint;
  beforeEach(async () => {
    before = await world.tokensAt(COLD, 'USDC');
  });
  const arrived = async () => (await world.tokensAt(COLD, 'USDC')) - before;

  test('delays sweeps of a token blocked at cold storage, and sweeps other tokens', async () => {
    await issuer('blacklist', COLD);
    const blocked = [await world.paid(41n * ONE, 'USDC'), await world.paid(42n * ONE, 'USDC')];
    const other = await world.paid(43n * ONE);
    const metrics = createMetrics('payout-signer');
    await world.start({ metrics });
    await world.mineUntil('the other token is swept', () => isDone(other));
    await world.mineUntil('both wait', async () => (await waiting())['WOULD_FAIL'] === 2);
    await rounds(5);
    expect(await metrics.render()).toMatch(
      /^opentill_signer_sweeps_waiting_count\{.*reason="WOULD_FAIL".*\} 2$/m,
    );
    for (const one of blocked) {
      expect(await moves(one)).toEqual([]);
      expect(await world.coinAt(one.address)).toBe(0n);
    }
    await issuer('unBlacklist', COLD);
    for (const one of blocked) await world.mineUntil('it is swept', () => isDone(one));
    expect(await arrived()).toBe(83n * ONE);
  });

  test('pays no second fee while cold storage that got blocked makes a sweep fail', async () => {
    const order = await world.paid(44n * ONE, 'USDC');
    await world.start();
    await world.mineUntil('the fee is there', async () => (await moves(order))[0] === 'GAS_TOP_UP PAID_OUT');
    await waitForMove(order, 'SWEEP IN_FLIGHT');
    // Not mined yet. The issuer's transaction precedes it in the next block.
    await callRpc(world.signer.rpcUrl, 'anvil_dropAllTransactions', []);
    await issuer('blacklist', COLD);
    await world.mineUntil('it failed', async () => (await moves(order))[1] === 'SWEEP RETURNED');
    const left = await world.coinAt(order.address);
    const sent = await sentBy(order);
    await sql`update payout set updated_at = now() - interval '1 hour' where wallet = ${order.address} and money = 'RETURNED'`.execute(
      world.admin,
    );
    await rounds(5);
    await world.mineUntil('it waits', async () => (await waiting())['WOULD_FAIL'] === 1);
    await rounds(5);
    expect(await world.tokensAt(order.address, 'USDC')).toBe(44n * ONE);
    expect([await world.coinAt(order.address), await sentBy(order), await topUps(order)]).toEqual([
      left,
      sent,
      1,
    ]);
    const other = await world.paid(45n * ONE);
    await world.mineUntil('another address is swept', () => isDone(other));
    await issuer('unBlacklist', COLD);
    await world.mineUntil('it is swept', () => isDone(order));
    expect(await arrived()).toBe(44n * ONE);
    expect((await moves(order)).filter((move) => move === 'SWEEP PAID_OUT')).toHaveLength(1);
    expect(await topUps(order)).toBeLessThanOrEqual(2);
  });

  const sentBy = async ({ address }: OrderRow) =>
    Number(await callRpc<string>(world.signer.rpcUrl, 'eth_getTransactionCount', [address, 'latest']));
});
