import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { WalletSender } from '@opentill/chain/wallet-sender';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import type { OrderRow } from '@opentill/testkit/scenario';
import { CHAIN } from '../nonce/signer-world.ts';
import { watchHeldAssets } from './held-assets.ts';
import { COLD, createSweepWorld, type SweepWorld } from './sweep-world.ts';

// The hot wallet is halted between a plan and the signature of its fee. After the release the address is swept once,
// with one fee.

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
const { isDone, moves, waitForMove, rounds } = watchHeldAssets(() => world);

const halt = (kind: 'OPERATOR' | 'FOREIGN_NONCE') =>
  sql`insert into wallet_halt (halt_id, chain, wallet, kind, reason, set_by)
    values (gen_random_uuid(), ${CHAIN}, ${world.signer.wallet}, ${kind}, 'look first', 'test')`.execute(
    world.admin,
  );
const release = () =>
  sql`update wallet_halt set released_at = now(), released_by = 'test', released_reason = 'looked'
    where chain = ${CHAIN} and released_at is null`.execute(world.admin);

async function paidWithCoin(amount: bigint): Promise<OrderRow> {
  const order = await world.paid(amount);
  await callRpc(world.signer.rpcUrl, 'anvil_setBalance', [order.address, '0x16345785d8a0000']);
  return order;
}

async function begun(amount: bigint) {
  const gate = { isShut: true };
  const order = await world.paid(amount);
  const sender = (plain: WalletSender): WalletSender => ({
    ...plain,
    prepare: async (intents, options) => {
      const prepared = await plain.prepare(intents, options);
      const isShut = gate.isShut && (await world.sweepsOf(order)).length > 0;
      return prepared.map((one, place) => {
        const { to, contract } = intents[place]!;
        if (!isShut || contract !== null || to !== order.address) return one;
        return { kind: 'OBSTACLE', obstacle: 'WOULD_FAIL', detail: 'the gate is closed' };
      });
    },
  });
  await world.start({ sweep: { batchSize: 1 }, sender });
  await waitForMove(order, 'GAS_TOP_UP RESERVED');
  return { order, gate };
}

const stateOf = async (order: OrderRow) => (await world.sweepsOf(order)).map(({ state }) => state);
const feesOf = async (order: OrderRow) =>
  (await moves(order)).filter((move) => move.startsWith('GAS_TOP_UP PAID_OUT')).length;

test('frees the slot of an unsigned fee during a halt for a foreign transaction', async () => {
  const { order, gate } = await begun(51n * ONE);
  await halt('FOREIGN_NONCE');
  gate.isShut = false;
  const others = [await paidWithCoin(52n * ONE), await paidWithCoin(53n * ONE)];
  const needy = await world.paid(54n * ONE);
  for (const other of others) await world.mineUntil('another is swept in its place', () => isDone(other));
  await rounds(5);
  // The foreign transaction may have brought the fee, so it must not end before an operator decides.
  await passTime();
  await rounds(3);
  expect([await stateOf(order), await moves(order)]).toEqual([['OPEN'], ['GAS_TOP_UP RESERVED']]);
  expect([await world.coinAt(order.address), await world.sweepsOf(needy)]).toEqual([0n, []]);
  await release();
  await world.mineUntil('its time is over', expireAll);
  await passBackoff();
  for (const one of [order, needy]) await world.mineUntil('it is swept', () => isDone(one));
  expect(await stateOf(order)).toEqual(['DONE']);
  expect([await feesOf(order), await moves(order)]).toEqual([
    1,
    ['GAS_TOP_UP RELEASED', 'GAS_TOP_UP PAID_OUT', 'SWEEP PAID_OUT'],
  ]);
  expect(await world.tokensAt(COLD)).toBe((51n + 52n + 53n + 54n) * ONE);
});

test("signs the same fee once when an operator's halt ends in time", async () => {
  const before = await world.tokensAt(COLD);
  const { order, gate } = await begun(55n * ONE);
  await halt('OPERATOR');
  gate.isShut = false;
  const other = await paidWithCoin(56n * ONE);
  await world.mineUntil('another is swept in its place', () => isDone(other));
  await rounds(3);
  expect([await stateOf(order), await moves(order)]).toEqual([['OPEN'], ['GAS_TOP_UP RESERVED']]);
  await release();
  await world.mineUntil('it is swept', () => isDone(order));
  expect(await moves(order)).toEqual(['GAS_TOP_UP PAID_OUT', 'SWEEP PAID_OUT']);
  expect((await world.tokensAt(COLD)) - before).toBe(111n * ONE);
});

test('abandons a sweep during a long halt and plans it again after the release', async () => {
  const before = await world.tokensAt(COLD);
  const { order, gate } = await begun(57n * ONE);
  await halt('OPERATOR');
  gate.isShut = false;
  await passTime();
  await world.mineUntil('its time is over', expireAll);
  await passBackoff();
  await world.mineUntil('it is abandoned', async () => (await stateOf(order))[0] === 'ABANDONED');
  expect(await world.sweepsOf(order)).toMatchObject([{ reason: 'the hot wallet is halted' }]);
  await rounds(5);
  expect([await stateOf(order), await moves(order)]).toEqual([['ABANDONED'], ['GAS_TOP_UP RELEASED']]);
  expect(await world.coinAt(order.address)).toBe(0n);
  await release();
  await world.mineUntil('it is swept', () => isDone(order));
  expect(await stateOf(order)).toEqual(['ABANDONED', 'DONE']);
  expect(await moves(order)).toEqual(['GAS_TOP_UP RELEASED', 'GAS_TOP_UP PAID_OUT', 'SWEEP PAID_OUT']);
  expect((await world.tokensAt(COLD)) - before).toBe(57n * ONE);
});

const UNSIGNED = sql`state in ('REQUESTED', 'AUTHORISED')`;

const passTime = () =>
  sql`update payout set expires_at = now() - interval '1 second' where ${UNSIGNED}`.execute(world.admin);

/** As the tracker does. Returns true when no overdue unsigned payout is left. */
async function expireAll(): Promise<boolean> {
  await sql`select expire_payouts(array(select order_pk from payout))`.execute(world.admin);
  const { rows } = await sql`select from payout where ${UNSIGNED} and expires_at < now()`.execute(
    world.admin,
  );
  return rows.length === 0;
}

/** Skips the pauses before another attempt and before a sweep is abandoned. */
async function passBackoff(): Promise<void> {
  await sql`update payout set updated_at = now() - interval '1 hour' where state = 'EXPIRED'`.execute(
    world.admin,
  );
  await sql`update sweep set planned_at = now() - interval '1 hour' where state = 'OPEN'`.execute(
    world.admin,
  );
}
