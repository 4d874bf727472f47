import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { BlockHeader } from '@opentill/chain/block';
import { sql } from 'kysely';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { TIMEOUT_MS } from '../world/quick-timing.ts';
import { expectLandedOnce as landOnce } from '../world/expect-landed-once.ts';
import {
  aSuiAddress,
  createSuiWorld,
  ONE_SUI,
  ONE_USDC,
  type RunningSigner,
  type SuiWorld,
} from './sui-world.ts';

let world: SuiWorld;
let signers: RunningSigner[] = [];
beforeAll(async () => {
  world = await createSuiWorld();
});
afterEach(async () => {
  world.devnet.control.clearFaults();
  const failures = signers.flatMap((signer) => signer.failures);
  for (const signer of signers) await signer.stop();
  signers = [];
  expect(failures).toEqual([]);
});
afterAll(() => world.close());

const start = async (options: Parameters<SuiWorld['start']>[0] = {}): Promise<RunningSigner> => {
  const signer = await world.start(options);
  signers.push(signer);
  return signer;
};
const sent = (order: OrderRow) =>
  waitUntil('sent', async () => (await world.payoutOf(order)).sent, TIMEOUT_MS);

const expectLandedOnce = (orders: readonly OrderRow[], attempts?: number) =>
  landOnce(world, orders, attempts);

describe('payout on SUI', () => {
  test('delivers the exact amount in a token and in SUI, one payment per equal payout', async () => {
    await start();
    const address = aSuiAddress();
    const equalPayouts = [await world.payout({ address }), await world.payout({ address })];
    const orders = [await world.payout(), await world.nativePayout(3n * ONE_SUI + 7n)];
    await world.land(equalPayouts);
    await expectLandedOnce(orders);
    expect(await world.received(equalPayouts[0]!)).toBe(10n * ONE_USDC);
    const hashes = (await Promise.all(equalPayouts.map((one) => world.attemptsOf(one)))).map(
      ([one]) => one?.tx_hash,
    );
    expect(new Set(hashes).size).toBe(2);
    const balances = await sql<{ symbol: string }>`select symbol from hot_wallet_balance order by 1`.execute(
      world.admin,
    );
    expect(balances.rows.map(({ symbol }) => symbol)).toEqual(['SUI', 'USDC', 'USDT']);
  });

  test('signs again after its epochs ended without acceptance, and lands once', async () => {
    await start();
    world.devnet.control.fault({ kind: 'swallow-execute' });
    const order = await world.payout();
    await sent(order);
    const { rows } = await sql<{ first_epoch: number; last_epoch: number }>`
      select first_epoch, last_epoch from payout_attempt where order_pk = ${order.order_pk}`.execute(
      world.admin,
    );
    const { first_epoch: first, last_epoch: last } = rows[0]!;
    for (let epoch = first; epoch < last; epoch += 1) await world.passEpoch();
    expect(await world.attemptsOf(order)).toHaveLength(1);
    world.devnet.control.clearFaults();
    await world.passEpoch();
    await world.until('signed anew', order, ({ length }) => length === 2);
    const [dead] = await world.attemptsOf(order);
    expect(dead).toMatchObject({ state: 'DEAD', fate: null });
    await expectLandedOnce([order], 2);
  });

  test('does not sign a landed payout again when nodes deny it, because the scan read it', async () => {
    const head = { height: 1, hash: 'h', parentHash: 'p', timeSeconds: 1 } as BlockHeader;
    await start({
      sender: (sender) => ({
        ...sender,
        findInBlocks: () => Promise.resolve({ found: new Set(), end: [head, head] }),
      }),
    });
    world.devnet.control.fault({ kind: 'no-transaction-index' });
    const order = await world.payout();
    await waitUntil('arrived', async () => (await world.received(order)) === order.amount);
    for (let epoch = 0; epoch < 3; epoch += 1) await world.passEpoch();
    // The signer handles expired attempts before it signs this payout.
    const next = await world.payout();
    await sent(next);
    const [attempt, ...others] = await world.attemptsOf(order);
    expect(others).toEqual([]);
    expect(attempt).toMatchObject({ state: 'OPEN', fate: null });
    const markDead = sql`update payout_attempt set state = 'DEAD', dead_height = 1, dead_hash = 'h' where tx_hash = ${attempt!.tx_hash}`;
    await expect(markDead.execute(world.admin)).rejects.toThrow(/may still land or has landed/);
    world.devnet.control.clearFaults();
    await expectLandedOnce([order, next]);
  });

  test('ends a payout that fails on the chain, without signing it again', async () => {
    await start({
      sender: (sender) => ({
        ...sender,
        async broadcast(...given) {
          for (const { order_pk } of [order]) {
            const receiver = await sql<{
              address: string;
            }>`select address from orders where order_pk = ${order_pk}`.execute(world.admin);
            world.devnet.control.denyAddress('USDC', receiver.rows[0]!.address, true);
          }
          return sender.broadcast(...given);
        },
      }),
    });
    const order: OrderRow = await world.payout();
    await world.until('settled', order, ([one]) => one?.state === 'SETTLED' && one.succeeded === false);
    expect(await world.received(order)).toBe(0n);
    expect(await world.attemptsOf(order)).toHaveLength(1);
  });

  test('pays from received coins after gathering, without a foreign-transaction alarm', async () => {
    await start();
    const { USDC } = world.devnet.tokens;
    const more = 2_000_000n * ONE_USDC;
    const held = (await world.heldBy(world.wallet, USDC)) + more;
    await world.devnet.control.fund(world.wallet, { symbol: 'USDC', amountBaseUnits: more, form: 'coin' });
    await waitUntil('it came', async () => (await world.heldBy(world.wallet, USDC)) === held);
    await sql`select book_top_up(${`SUI_TEST:${aSuiAddress()}:USDC`}, 'SUI_TEST', 'USDC', ${more})`.execute(
      world.admin,
    );
    const order = await world.payout({ amount: held });
    await expectLandedOnce([order]);
    expect(await world.heldBy(world.wallet, USDC)).toBe(0n);
    await waitUntil('its fee is booked', async () => {
      const { rows } = await sql<{ fees: number }>`
        select count(*)::int as fees from own_transaction t join own_transaction_settlement s using (chain, tx_hash)
        where t.purpose = 'GATHER'`.execute(world.admin);
      return rows[0]!.fees > 0;
    });
    const { rows } = await sql`select from foreign_transaction`.execute(world.admin);
    expect(rows).toEqual([]);
    await world.devnet.control.fund(world.wallet, {
      symbol: 'USDC',
      amountBaseUnits: held,
      form: 'address',
    });
    await sql`select book_top_up(${`SUI_TEST:${aSuiAddress()}:USDC`}, 'SUI_TEST', 'USDC', ${held})`.execute(
      world.admin,
    );
  });

  test('waits while scanner and node are in different epochs', async () => {
    await start({
      sender: (sender) => ({
        ...sender,
        epochs: {
          currentWindow: (epoch, options) => sender.epochs!.currentWindow(epoch + 1, options),
        },
      }),
    });
    const order = await world.payout();
    await waitUntil(
      'an obstacle',
      async () => (await world.payoutOf(order)).obstacle === 'CHAIN_BEHIND',
      TIMEOUT_MS,
    );
    expect(await world.attemptsOf(order)).toEqual([]);
    await sql`insert into payout_veto (order_pk, operator, reason) values (${order.order_pk}, 'test', 'over')`.execute(
      world.admin,
    );
  });
});

async function sweepAttemptOf({ address }: OrderRow): Promise<{ tx_hash: string; state: string }> {
  const { rows } = await sql<{ tx_hash: string; state: string }>`
    select tx_hash, state from payout_attempt where wallet = ${address}`.execute(world.admin);
  if (rows.length !== 1) throw new Error(`${rows.length} attempts`);
  return rows[0]!;
}

describe('deposit address on SUI', () => {
  test('sweeps a deposit address without SUI to cold storage, gasless or sponsored', async () => {
    const free = await world.paidMany([12_345_678n], 'USDC');
    const sponsored = await world.paidMany([2_000_001n], 'USDT', 'address');
    await start({ sweep: {} });
    const orders = [...free, ...sponsored];
    const isDone = async (order: OrderRow) =>
      (await world.sweepsOf(order)).some(({ state }) => state === 'DONE');
    await waitUntil(
      'all is swept',
      async () => (await Promise.all(orders.map(isDone))).every(Boolean),
      TIMEOUT_MS,
    );
    for (const order of orders) {
      expect(await world.received(order)).toBe(0n);
      expect(await world.heldBy(order.address)).toBe(0n);
      expect(await world.sweepsOf(order)).toEqual([
        { state: 'DONE', method: 'FREE', reason: null, rent_cost: null },
      ]);
      expect(await world.movesOf(order)).toEqual([{ kind: 'SWEEP', money: 'PAID_OUT' }]);
    }
    expect(await world.balance('COLD', 'USDC')).toBe(12_345_678n);
    expect(await world.balance('COLD', 'USDT')).toBe(2_000_001n);
    expect(await world.balance('DEPOSIT_GAS', 'SUI')).toBe(0n);
    // The state after a crash before external updates were applied.
    const hashes = (await Promise.all(orders.map((order) => sweepAttemptOf(order)))).map(
      ({ tx_hash: one }) => one,
    );
    await sql`update payout_attempt set state = 'OPEN' where tx_hash = any(${hashes}::text[])`.execute(
      world.admin,
    );
    await waitUntil('every attempt is closed', async () =>
      (await Promise.all(orders.map(sweepAttemptOf))).every(({ state }) => state === 'SETTLED'),
    );
  });
});
