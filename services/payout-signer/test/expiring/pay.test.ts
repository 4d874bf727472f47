import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { TokenContract } from '@opentill/chain/transfer';
import { baseUnits } from '@opentill/domain/money';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { TIMEOUT_MS } from '../world/quick-timing.ts';
import { expectLandedOnce as landOnce } from '../world/expect-landed-once.ts';
import { checkChain } from './check-tron-chain.ts';
import {
  aTronAddress,
  createTronWorld,
  ONE_TRX,
  ONE_USDT,
  post,
  type RunningDriver,
  type TronWorld,
} from './tron-world.ts';

let world: TronWorld;
let drivers: RunningDriver[] = [];
const paid: OrderRow[] = [];
beforeAll(async () => {
  world = await createTronWorld();
});
afterEach(async () => {
  world.devnet.control.clearFaults();
  const failures = drivers.flatMap((driver) => driver.failures);
  for (const driver of drivers) await driver.stop();
  drivers = [];
  expect(failures).toEqual([]);
});
afterAll(() => world.close());

const start = async (...given: Parameters<TronWorld['start']>): Promise<RunningDriver> => {
  const driver = await world.start(...given);
  drivers.push(driver);
  return driver;
};
const sent = (order: OrderRow) =>
  waitUntil('sent', async () => (await world.payoutOf(order)).sent, TIMEOUT_MS);
const blocked = (order: OrderRow, obstacle: string) =>
  waitUntil(obstacle, async () => (await world.payoutOf(order)).obstacle === obstacle, TIMEOUT_MS);

const halt = () =>
  sql`insert into wallet_halt (halt_id, chain, kind, reason, set_by) values (gen_random_uuid(), 'TRON_TEST', 'OPERATOR', 'stop', 'test')`.execute(
    world.admin,
  );
const release = () =>
  sql`update wallet_halt set released_at = now(), released_by = 'test', released_reason = 'done'`.execute(
    world.admin,
  );

/** Increases the booked balance, but not the balance on the chain. */
const bookMore = (amount: bigint) =>
  sql`select book_top_up(${`TRON_TEST:${aTronAddress()}:USDT`}, 'TRON_TEST', 'USDT', ${amount})`.execute(
    world.admin,
  );

async function expectLandedOnce(orders: readonly OrderRow[], attempts?: number): Promise<void> {
  await landOnce(world, orders, attempts);
  paid.push(...orders);
}

describe('payout on TRON', () => {
  test('delivers the exact amount in a token and in TRX, once per equal payout', async () => {
    await start();
    const address = aTronAddress();
    const equalPayouts = [await world.payout({ address }), await world.payout({ address })];
    const orders = [await world.payout(), await world.nativePayout(3n * ONE_TRX + 7n)];
    await world.land(equalPayouts);
    await expectLandedOnce(orders);
    expect(await world.received(equalPayouts[0]!)).toBe(10n * ONE_USDT);
    const notified = await sql<{ payload: string }>`select payload from signer.outbox`.execute(world.admin);
    const named = notified.rows.flatMap(
      (row) => (JSON.parse(row.payload) as { data: { orderPks: string[] } }).data.orderPks,
    );
    expect(named.toSorted()).toEqual([...equalPayouts, ...orders].map((order) => order.order_pk).toSorted());
    const balances = await sql<{ symbol: string }>`select symbol from hot_wallet_balance order by 1`.execute(
      world.admin,
    );
    expect(balances.rows.map(({ symbol }) => symbol)).toEqual(
      world.network.tokens.map(({ symbol }) => symbol).toSorted(),
    );
  });

  test('sends the same bytes again after a lost answer', async () => {
    const outcomes: string[] = [];
    let losing = true;
    await start({
      sender: (sender) => ({
        ...sender,
        async broadcast(...given) {
          const real = await sender.broadcast(...given);
          outcomes.push(...real);
          return losing ? real.map(() => 'UNKNOWN' as const) : real;
        },
      }),
    });
    const order = await world.payout();
    await waitUntil('known', () => outcomes.includes('KNOWN'));
    losing = false;
    await expectLandedOnce([order]);
  });

  test('sends the same bytes again after a reorganisation', async () => {
    await start();
    const order = await world.payout();
    await sent(order);
    await world.mine();
    await world.until('mined', order, ([one]) => one?.fate === 'MINED');
    await world.devnet.control.reorganise(1, { drop: true });
    await world.until('taken back', order, ([one]) => one?.fate === 'ORPHANED');
    await expectLandedOnce([order]);
  });

  test('signs again after the expiry is final, and lands once', async () => {
    await start();
    world.devnet.control.fault({ kind: 'swallow-broadcast' });
    const order = await world.payout();
    await sent(order);
    const { expirationSeconds } = world.network.payouts as { expirationSeconds: number };
    // Expired by the head, but not by final blocks.
    await world.mine(expirationSeconds / 3 + 1);
    expect(await world.attemptsOf(order)).toHaveLength(1);
    world.devnet.control.clearFaults();
    await world.mine(5);
    await world.until('signed anew', order, ({ length }) => length === 2);
    const [dead] = await world.attemptsOf(order);
    expect(dead).toMatchObject({ state: 'DEAD', fate: null });
    const gone = await post<object>(world.devnet.url, 'gettransactionbyid', { value: dead!.tx_hash });
    expect(gone).toEqual({});
    await expectLandedOnce([order], 2);
  });

  test('does not sign again because a node answers EXPIRED or KNOWN', async () => {
    let forcedAnswer: 'EXPIRED' | 'KNOWN' | 'REFUSED' | undefined = 'EXPIRED';
    await start({
      sender: (sender) => ({
        ...sender,
        broadcast: (signed, options) =>
          forcedAnswer === undefined
            ? sender.broadcast(signed, options)
            : Promise.resolve(signed.map(() => forcedAnswer!)),
      }),
    });
    const order = await world.payout();
    for (const word of ['EXPIRED', 'KNOWN', 'REFUSED'] as const) {
      forcedAnswer = word;
      await world.until(word, order, ([one]) => one?.send_outcome === word);
      await world.mine();
      expect(await world.attemptsOf(order)).toHaveLength(1);
    }
    forcedAnswer = undefined;
    await expectLandedOnce([order]);
  });

  test('leaves a payout unsigned until the wallet can pay it', async () => {
    await start();
    await bookMore(1_500_000n * ONE_USDT);
    const order = await world.payout({ amount: 2_000_000n * ONE_USDT });
    await blocked(order, 'NO_TOKENS');
    expect(await world.attemptsOf(order)).toEqual([]);
    await world.devnet.control.fund(world.wallet, { symbol: 'USDT', amountBaseUnits: 1_500_000n * ONE_USDT });
    await waitUntil('signed', async () => (await world.payoutOf(order)).state === 'SIGNED', TIMEOUT_MS);
    await expectLandedOnce([order]);
  });

  test('leaves a payout unsigned that needs more energy than the fee cap allows', async () => {
    await start();
    world.devnet.control.setChainParameter('getEnergyFee', 100_000);
    const order = await world.payout();
    await blocked(order, 'FEES_ABOVE_CAP');
    expect(await world.attemptsOf(order)).toEqual([]);
    world.devnet.control.setChainParameter('getEnergyFee', 100);
    await waitUntil('signed', async () => (await world.payoutOf(order)).state === 'SIGNED', TIMEOUT_MS);
    await expectLandedOnce([order]);
  });

  test('does not sign by a block time far ahead of the verified one', async () => {
    const HOUR_MS = 3_600_000;
    const misled = await start({
      store: (store) => ({
        ...store,
        async readView(options) {
          const view = await store.readView(options);
          if (view.cursor === null) return view;
          const { seen } = view.cursor;
          return { ...view, cursor: { ...view.cursor, seen: { ...seen, timeMs: seen.timeMs + HOUR_MS } } };
        },
      }),
      sender: (sender) => ({
        ...sender,
        async balances(...given) {
          const real = await sender.balances(...given);
          const { block } = real;
          return { ...real, block: { ...block, timeSeconds: block.timeSeconds + HOUR_MS / 1_000 } };
        },
      }),
    });
    const order = await world.payout();
    await blocked(order, 'CHAIN_BEHIND');
    expect(await world.attemptsOf(order)).toEqual([]);
    await misled.stop();
    await start();
    await expectLandedOnce([order]);
  });

  test('rejects a decision for a transaction with an impossible timestamp, and continues', async () => {
    const orders = [await world.payout(), await world.payout(), await world.payout()];
    const { rows } = await sql<{ taken: number }>`
      select max(unique_ms) as taken from payout_attempt where wallet = ${world.wallet}`.execute(world.admin);
    const stamps = new Map(
      [0, Number(rows[0]?.taken), 2 ** 53].map((ms, place) => [`${place}`.repeat(64), ms]),
    );
    await halt();
    await start({
      sender: (sender) => ({
        ...sender,
        readPayment(txHash) {
          const { address, amount } = orders[Number(txHash[0])]!;
          const to = address as Address;
          const amountBaseUnits = baseUnits(amount);
          const intent = { from: world.wallet, contract: world.usdt as TokenContract, to, amountBaseUnits };
          const [blockHeight, blockHash] = [1, 'b'.repeat(64) as BlockHash];
          const reference = { height: blockHeight, hash: blockHash };
          const delivered = { succeeded: true, deliveredBaseUnits: amount, feeBaseUnits: 0n };
          return Promise.resolve({
            intent,
            validity: { uniqueMs: stamps.get(txHash)!, expiresMs: Date.now(), reference },
            feeLimitBaseUnits: 1n,
            fate: { txHash, blockHeight, blockHash, ...delivered },
          });
        },
      }),
    });
    for (const [place, txHash] of [...stamps.keys()].entries())
      await sql`insert into payout_decision (decision_id, order_pk, decision, tx_hash, operator, reason)
        values (gen_random_uuid(), ${orders[place]!.order_pk}, 'PAID_BY', ${txHash}, 'test', 'looked')`.execute(
        world.admin,
      );
    await waitUntil('answered', async () => {
      const answers = await sql<{ detail: string }>`
        select detail from payout_decision where outcome = 'NOT_POSSIBLE' and detail like '%timestamp%'`.execute(
        world.admin,
      );
      return answers.rows.length === orders.length;
    });
    await release();
    await expectLandedOnce(orders);
  });

  test('does not sign under a halt, while signed bytes are still sent', async () => {
    await start();
    world.devnet.control.fault({ kind: 'swallow-broadcast' });
    const order = await world.payout();
    await sent(order);
    await halt();
    world.devnet.control.clearFaults();
    await world.passExpiry();
    await world.until('settled or dead', order, ([one]) => one?.state === 'DEAD' || one?.state === 'SETTLED');
    if ((await world.attemptsOf(order))[0]?.state === 'DEAD') await blocked(order, 'HALTED');
    expect(await world.attemptsOf(order)).toHaveLength(1);
    await release();
    await world.land([order]);
    expect(await world.received(order)).toBe(order.amount);
    paid.push(order);
  });
});

describe('failed payout on TRON', () => {
  /** Accepts every simulation and suggests this fee limit. */
  const blind = (feeLimitBaseUnits: bigint): NonNullable<Parameters<TronWorld['start']>[0]> => ({
    sender: (sender) => ({
      ...sender,
      prepare: (intents) =>
        Promise.resolve(
          intents.map(
            () => ({ kind: 'READY', feeLimitBaseUnits, costBaseUnits: feeLimitBaseUnits }) as const,
          ),
        ),
      async balances(...given) {
        const real = await sender.balances(...given);
        return {
          ...real,
          amounts: new Map([...real.amounts.keys()].map((contract) => [contract, 10n ** 15n])),
        };
      },
    }),
  });
  const settledBadly = (order: OrderRow) =>
    world.until('settled', order, ([one]) => one?.state === 'SETTLED' && one.succeeded === false);
  test('does not sign again a payout that ran out of energy', async () => {
    await start(blind(ONE_TRX));
    const order = await world.payout();
    await sent(order);
    await world.mine(5);
    await settledBadly(order);
    await world.passExpiry();
    expect(await world.attemptsOf(order)).toMatchObject([{ state: 'SETTLED', fate: 'VERIFIED' }]);
    expect(await world.received(order)).toBe(0n);
  });

  test('sends the same bytes again after its block was reorganised', async () => {
    await start(blind(50n * ONE_TRX));
    await bookMore(1_000_000n * ONE_USDT);
    const order = await world.payout({ amount: 500_000n * ONE_USDT });
    await sent(order);
    await world.mine();
    await world.until('reverted', order, ([one]) => one?.fate === 'MINED' && one.succeeded === false);
    // It may return to the pool before the money arrives, and fail again in the block that brings the money.
    world.devnet.control.fault({ kind: 'swallow-broadcast' });
    await world.devnet.control.reorganise(1, { drop: true });
    await world.until('taken back', order, ([one]) => one?.fate === 'ORPHANED');
    await world.devnet.control.fund(world.wallet, { symbol: 'USDT', amountBaseUnits: 1_000_000n * ONE_USDT });
    await world.mine();
    world.devnet.control.clearFaults();
    await expectLandedOnce([order]);
  });

  test('keeps a payout failed when its revert is final', async () => {
    await start(blind(50n * ONE_TRX));
    await bookMore(3_000_000n * ONE_USDT);
    const order = await world.payout({ amount: 2_500_000n * ONE_USDT });
    await sent(order);
    await world.mine(5);
    await settledBadly(order);
    await world.passExpiry();
    expect(await world.attemptsOf(order)).toHaveLength(1);
    expect(await world.received(order)).toBe(0n);
  });
});

test('pays every order exactly once according to the chain', async () => {
  const { wrong } = await checkChain(world, paid);
  expect(wrong.filter((line) => !line.startsWith('to no order'))).toEqual([]);
  expect(wrong).toHaveLength(1);
});
