import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { sql } from 'kysely';
import { ALL_SHARES } from '@opentill/domain/order-shares';
import { anOption, anOrderWithOptions, choose, type TestOption } from '@opentill/testkit/order-options';
import { aTransfer, type TransferRow } from '@opentill/testkit/scenario';
import { settleTransfers } from '../src/handlers/settle-event.ts';
import { findDueOrders } from '../src/store/find-unsettled.ts';
import { at, createTrackerScenario, envelope, TTL, type TrackerScenario } from './tracker-scenario.ts';

const TRON = anOption('TRON_TEST', 'USDT', 53_900_000n, null);
const SEPOLIA = anOption('ETH_SEPOLIA', 'USDC', 53_950_000n);
const BSC = anOption('BSC_TEST', 'USDT', 53_910_000n, 6);
const OPTIONS = [TRON, SEPOLIA, BSC];
const CHAINS = OPTIONS.map(({ chain }) => chain);

let s: TrackerScenario;
beforeAll(async () => {
  s = await createTrackerScenario();
});
afterAll(() => s.close());
beforeEach(async () => {
  for (const chain of CHAINS) await s.chainAt(110, 200, chain);
});

type Order = Awaited<ReturnType<typeof anOrderWithOptions>>;

async function anOrder(overrides: Parameters<typeof anOrderWithOptions>[2] = {}): Promise<Order> {
  const { merchantId: merchant_id } = await s.merchant();
  const times = { created_at: at(0), expires_at: at(TTL) };
  const order = await anOrderWithOptions(s.admin, OPTIONS, { merchant_id, ...times, ...overrides });
  await s.admin
    .insertInto('notification')
    .values({
      event_id: order.order_pk,
      merchant_id,
      subject_id: order.order_pk,
      sequence: 1,
      notify_type: 'ORDER_PENDING',
      data: '{}',
      occurred_at: at(0),
    })
    .execute();
  return order;
}

async function pay(
  order: Order,
  option: TestOption,
  amount: bigint,
  { atSecond = 60, ...columns }: { atSecond?: number; state?: 'VERIFIED'; block_height?: number } = {},
): Promise<TransferRow> {
  const { address } = await s.admin
    .selectFrom('deposit_address')
    .select('address')
    .where('order_pk', '=', order.order_pk)
    .where('family', '=', option.family)
    .executeTakeFirstOrThrow();
  const time = at(atSecond);
  const { chain, family, symbol, contract_address } = option;
  return aTransfer(
    s.admin,
    { chain, family, symbol, contract_address, address, amount },
    { block_time: time, first_block_time: time, ...columns },
  );
}

async function choices(order: Order) {
  return s.admin
    .selectFrom('orders')
    .select(['chain', 'symbol', 'amount', 'address', 'choices', 'status'])
    .where('order_pk', '=', order.order_pk)
    .executeTakeFirstOrThrow();
}

const creditsOf = async (order: Order) =>
  (
    await sql<{ chain: string; symbol: string; amount: bigint }>`
      select a.chain, a.symbol, -sum(p.amount) as amount from ledger_transaction t join ledger_posting p using (ledger_tx_id)
        join ledger_account a using (account_id)
      where t.order_pk = ${order.order_pk} and a.kind = 'MERCHANT' group by 1, 2 having sum(p.amount) <> 0 order by 1, 2`.execute(
      s.admin,
    )
  ).rows;

describe('an order with options', () => {
  test('is paid in part in one coin and with the rest in another', async () => {
    const order = await anOrder();
    const tron = await choose(s.admin, order, TRON);
    const first = await pay(order, TRON, 20_000_000n);
    await s.detected(first);
    expect(await choices(order)).toMatchObject({ status: 'PENDING', choices: 1, address: tron.address });
    await choose(s.admin, order, SEPOLIA);
    // 20 / 53.90 of 53.95, rounded down.
    const rest = 53_950_000n - 20_018_552n;
    const tooLittle = await pay(order, SEPOLIA, rest - 1n);
    await s.detected(tooLittle);
    expect(await choices(order)).toMatchObject({ status: 'PENDING', choices: 2, amount: 53_950_000n });
    const last = await pay(order, SEPOLIA, 1n);
    await s.detected(last);
    const all = [first, tooLittle, last];
    await s.verified(...(await Promise.all(all.map((transfer) => s.verify(transfer)))));
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', reason: null });
    expect(await creditsOf(order)).toEqual([
      { chain: 'ETH_SEPOLIA', symbol: 'USDC', amount: rest },
      { chain: 'TRON_TEST', symbol: 'USDT', amount: 20_000_000n },
    ]);
    // Each address is swept by its own balance.
    const { rows } = await sql<{ chain: string; address: string; received: bigint }>`
      select chain, address, received from deposit_balance where order_pk = ${order.order_pk} order by chain`.execute(
      s.admin,
    );
    expect(rows).toEqual([
      { chain: 'ETH_SEPOLIA', address: last.to_address, received: rest },
      { chain: 'TRON_TEST', address: tron.address, received: 20_000_000n },
    ]);
    const callbacks = await s.callbacks(order);
    expect(callbacks.map(({ type }) => type)).toEqual([
      'ORDER_PENDING',
      'ORDER_PENDING',
      'ORDER_PENDING_CONFIRMATION',
      'ORDER_SUCCESS',
    ]);
    expect(callbacks[0]?.data).toMatchObject({
      chain: 'TRON_TEST',
      symbol: 'USDT',
      amount: '53.90',
      chosen: true,
    });
    expect(callbacks[0]?.data.transaction).toMatchObject({ chain: 'TRON_TEST', amount: '20.00' });
    expect(callbacks.at(-1)?.data).toMatchObject({
      chain: 'ETH_SEPOLIA',
      symbol: 'USDC',
      amount: '53.95',
      actualAmount: '53.95',
      currency: 'EUR',
      price: '49.90',
      rate: '0.9205',
    });
  });

  test('counts another listed coin on the address that EVM chains share', async () => {
    const order = await anOrder();
    await choose(s.admin, order, SEPOLIA);
    const paid = await pay(order, BSC, BSC.amount, { block_height: 104 });
    await s.detected(paid);
    expect(await s.state(order)).toMatchObject({ status: 'PENDING_CONFIRMATION', detected: ALL_SHARES });
    const verified = await s.verify(paid);
    await s.verified(verified);
    // Its own depth counts: six blocks, of which only block 105 and below have.
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS' });
    expect(await creditsOf(order)).toEqual([{ chain: 'BSC_TEST', symbol: 'USDT', amount: BSC.amount }]);
  });

  test('takes a payment of 2^256 of a token', async () => {
    const order = await anOrder();
    await choose(s.admin, order, SEPOLIA);
    const paid = await pay(order, SEPOLIA, 2n ** 256n - 1n, { state: 'VERIFIED' });
    await s.detected(paid);
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 10n ** 60n });
    expect(await creditsOf(order)).toEqual([
      { chain: 'ETH_SEPOLIA', symbol: 'USDC', amount: 2n ** 256n - 1n },
    ]);
  });

  test('waits for the depth of the coin that was paid', async () => {
    const order = await anOrder();
    await choose(s.admin, order, SEPOLIA);
    const paid = await pay(order, BSC, BSC.amount, { block_height: 108, state: 'VERIFIED' });
    await s.detected(paid);
    await s.verified(paid);
    expect(await s.state(order)).toMatchObject({ status: 'PENDING_CONFIRMATION' });
    await s.chainAt(200, 300); // of the chosen coin
    await s.sweepDue();
    expect(await s.state(order)).toMatchObject({ status: 'PENDING_CONFIRMATION' });
    await s.chainAt(113, 300, 'BSC_TEST');
    await s.sweepDue();
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS' });
  });

  test('is checked each second only if a paid coin needs more than the verified depth', async () => {
    const order = await anOrder();
    await choose(s.admin, order, SEPOLIA);
    await s.detected(await pay(order, BSC, BSC.amount, { block_height: 108, state: 'VERIFIED' }));
    await s.chainAt(115, 300, 'BSC_TEST');
    const isDue = async (depth: number, everyDepth: boolean) => {
      const verifiedDepths = new Map([['BSC_TEST', depth] as const]);
      const due = await findDueOrders(s.admin, 500, { verifiedDepths, everyDepth, now: at(300) });
      return due.includes(order.order_pk);
    };
    expect(await isDue(1, false)).toBe(true);
    expect(await isDue(6, false)).toBe(false); // USDC on Ethereum needs more, but was not paid
    expect(await isDue(6, true)).toBe(true);
  });

  test('records a late payment to an earlier address, which an operator may accept', async () => {
    const order = await anOrder();
    await choose(s.admin, order, TRON);
    await choose(s.admin, order, SEPOLIA);
    for (const chain of CHAINS) await s.chainAt(120, TTL + 60, chain);
    await s.sweepDue();
    const late = await pay(order, TRON, TRON.amount, { atSecond: TTL + 30, state: 'VERIFIED' });
    await s.detected(late);
    expect(await s.state(order)).toMatchObject({ status: 'EXPIRED', reason: 'Paid after expiry' });
    expect((await s.callbacks(order)).at(-1)?.data).toMatchObject({ symbol: 'USDC', actualAmount: '53.95' });
    const unmatched = s.admin.selectFrom('unmatched_deposit').select('reason');
    expect(await unmatched.where('transfer_id', '=', late.transfer_id).execute()).toEqual([
      { reason: 'LATE' },
    ]);
    await s.admin
      .insertInto('order_decision')
      .values({
        decision_id: order.order_pk,
        order_pk: order.order_pk,
        decision: 'ACCEPT',
        reason: 'r',
        operator: 'o',
      })
      .execute();
    await s.deliver(envelope('order.decided', { orderPk: order.order_pk }));
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS' });
    expect(await creditsOf(order)).toEqual([{ chain: 'TRON_TEST', symbol: 'USDT', amount: TRON.amount }]);
  });

  test('reports a late payment in an option whose chain left the networks file', async () => {
    const { merchantId } = await s.merchant({ notifyUnmatched: true });
    const order = await anOrder({ merchant_id: merchantId });
    await choose(s.admin, order, TRON);
    await choose(s.admin, order, SEPOLIA);
    for (const chain of CHAINS) await s.chainAt(120, TTL + 60, chain);
    await s.sweepDue();
    const late = await pay(order, TRON, 20_000_000n, { atSecond: TTL + 30, state: 'VERIFIED' });
    const other = await pay(order, anOption('ETH_SEPOLIA', 'GONE', 1n), 7n, { atSecond: TTL + 30 });
    const settle = async (second: number, ...transfers: readonly TransferRow[]) => {
      const ids = transfers.map(({ transfer_id }) => transfer_id);
      await settleTransfers({ ...s.deps, clock: { now: () => at(second) } }, ids);
    };
    await settle(TTL + 100, late, other);
    // Lists the first one as it is stored.
    const again = await pay(order, TRON, 1_000_000n, { atSecond: TTL + 31, state: 'VERIFIED' });
    await settle(TTL + 200, again);
    const reports = (await s.callbacks(order)).filter(({ type }) => type === 'ORDER_UNMATCHED');
    const tron = { chain: 'TRON_TEST', symbol: 'USDT', reason: 'LATE' };
    const first = { ...tron, amount: '20.00', txid: late.tx_hash };
    expect(reports.map(({ data }) => data)).toMatchObject([
      { status: 'EXPIRED', unmatched: [first] },
      { status: 'EXPIRED', unmatched: [{ ...tron, amount: '1.00', txid: again.tx_hash }, first] },
    ]);
  });

  test('is accepted with money in an unlisted coin, at its worth in the current coin', async () => {
    const order = await anOrder();
    await choose(s.admin, order, SEPOLIA);
    await s.chainAt(120, TTL + 60);
    const other = anOption('ETH_SEPOLIA', 'OTHER', 1n);
    const wrong = await pay(order, other, 7n, { state: 'VERIFIED' });
    await s.detected(wrong);
    await s.sweepDue();
    await s.admin
      .insertInto('order_decision')
      .values({
        decision_id: order.order_pk,
        order_pk: order.order_pk,
        decision: 'ACCEPT',
        reason: 'r',
        operator: 'o',
        transfer_id: wrong.transfer_id,
        transfer_symbol: 'OTHER',
        transfer_amount: 7n,
        worth: 50_000_000n,
      })
      .execute();
    await s.deliver(envelope('order.decided', { orderPk: order.order_pk }));
    expect((await s.callbacks(order)).at(-1)?.data).toMatchObject({
      status: 'SUCCESS',
      actualAmount: '50.00',
    });
    expect(await creditsOf(order)).toEqual([{ chain: 'ETH_SEPOLIA', symbol: 'OTHER', amount: 7n }]);
  });
});

test('reverses each of two coins once, against their one credit, after SUCCESS', async () => {
  const { merchantId } = await s.merchant({ notifyReverted: true });
  const order = await anOrder({ merchant_id: merchantId });
  const rest = 53_950_000n - 20_018_552n;
  await choose(s.admin, order, TRON);
  const tron = await s.verify(await pay(order, TRON, 20_000_000n));
  await choose(s.admin, order, SEPOLIA);
  const sepolia = await s.verify(await pay(order, SEPOLIA, rest));
  await s.verified(tron, sepolia);
  const credit = `credit:${order.order_pk}`;
  const reversed = (id: number) => [`credit-reversed:${id}:1`, `deposit-reversed:${id}:1`];
  const [a, b] = [tron.transfer_id, sepolia.transfer_id];
  const refs = async () => (await s.refs(order)).slice(2);
  expect(await refs()).toEqual([credit]);
  const paid = await s.state(order);

  for (let repeated = 0; repeated < 2; repeated += 1) await s.orphaned(await s.orphan(tron));
  expect(await refs()).toEqual([credit, ...reversed(a)]);
  expect(await creditsOf(order)).toEqual([{ chain: 'ETH_SEPOLIA', symbol: 'USDC', amount: rest }]);
  await s.orphaned(await s.orphan(sepolia));
  expect(await refs()).toEqual([credit, ...reversed(a), ...reversed(b)]);
  expect(await creditsOf(order)).toEqual([]);
  expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: paid.actual });

  await s.verified(await s.verify(await s.mineAgain(tron, 105, 130)));
  expect((await refs()).slice(5)).toEqual([`deposit:${a}:2`, `credit-again:${a}:2`]);
  expect(await creditsOf(order)).toEqual([{ chain: 'TRON_TEST', symbol: 'USDT', amount: 20_000_000n }]);
  const incidents = await s.incidents(order);
  expect(incidents.map(({ chain, symbol, transfer_id: id }) => [chain, symbol, id])).toEqual([
    ['TRON_TEST', 'USDT', a],
    ['ETH_SEPOLIA', 'USDC', b],
  ]);
  const reverts = (await s.callbacks(order)).filter(({ type }) => type === 'ORDER_REVERTED');
  expect(reverts.map(({ data }) => data.transaction)).toMatchObject([
    { chain: 'TRON_TEST', txid: tron.tx_hash, amount: '20.00', status: 'FAILED' },
    { chain: 'ETH_SEPOLIA', txid: sepolia.tx_hash, amount: '33.931448', status: 'FAILED' },
  ]);
});

describe('the expiry of an order with options', () => {
  test('waits for the chain of each choice, and for no other', async () => {
    const order = await anOrder();
    await choose(s.admin, order, TRON);
    await choose(s.admin, order, SEPOLIA);
    await s.chainAt(120, TTL + 60, 'ETH_SEPOLIA');
    await s.sweepDue();
    expect(await s.state(order)).toMatchObject({ status: 'INIT' });
    await s.chainAt(120, TTL + 60, 'TRON_TEST');
    await s.sweepDue();
    expect(await s.state(order)).toMatchObject({ status: 'EXPIRED', reason: 'Not paid' });
    const found = await pay(order, BSC, BSC.amount, { state: 'VERIFIED', block_height: 100 });
    await s.detected(found);
    expect(await s.state(order)).toMatchObject({ status: 'SUCCESS' });
  });

  test("comes by the database's time while no coin is chosen", async () => {
    const open = await anOrder();
    const minutesAgo = (n: number) => new Date(Date.now() - n * 60_000);
    const over = await anOrder({ created_at: minutesAgo(2), expires_at: minutesAgo(1) });
    for (const chain of CHAINS) await s.chainAt(120, -100_000_000, chain); // no chain is read
    await s.sweepDue();
    expect(await s.state(open)).toMatchObject({ status: 'INIT' });
    expect(await s.state(over)).toMatchObject({ status: 'EXPIRED', reason: 'Not paid' });
    expect(await s.story(over)).toEqual(['ORDER_EXPIRED EXPIRED Not paid']);
    expect(await choose(s.admin, over, TRON)).toEqual({ outcome: 'CLOSED', address: undefined });
  });
});

/** Exact fractions of the whole order. */
interface Fraction {
  readonly n: bigint;
  readonly d: bigint;
}
const fractionOf = (paid: readonly Paid[]): Fraction =>
  paid.reduce(
    ({ n, d }, { amount, option }) => ({ n: n * option.amount + amount * d, d: d * option.amount }),
    { n: 0n, d: 1n },
  );
const covers = (paid: readonly Paid[]): boolean => {
  const { n, d } = fractionOf(paid);
  return n >= d;
};

interface Paid {
  row: TransferRow;
  readonly option: TestOption;
  readonly amount: bigint;
  readonly isInTime: boolean;
}
interface Model {
  readonly order: Order;
  readonly paid: Paid[];
  readonly chosen: Set<TestOption>;
  current: TestOption | undefined;
  readonly seconds: Map<string, number>;
  status: string;
  credited: readonly Paid[];
}

/** What the documents say, in the simplest way. No payment is orphaned, and all blocks are deep enough. */
function decide(model: Model): void {
  const { paid, chosen, seconds } = model;
  if (model.status === 'SUCCESS') return;
  const inTime = paid.filter(({ isInTime }) => isInTime);
  const verified = inTime.filter(({ row }) => row.state === 'VERIFIED');
  if (covers(inTime)) model.status = covers(verified) ? 'SUCCESS' : 'PENDING_CONFIRMATION';
  else if (model.status === 'EXPIRED') return;
  else if (chosen.size > 0 && [...chosen].every(({ chain }) => (seconds.get(chain) ?? 0) > TTL))
    model.status = 'EXPIRED';
  else model.status = inTime.length > 0 ? 'PENDING' : 'INIT';
  if (model.status === 'SUCCESS') model.credited = verified;
}

type Step = readonly [what: 'choose' | 'pay' | 'late' | 'verify' | 'time', which: number, percent: number];

async function take(model: Model, [what, which, percent]: Step): Promise<void> {
  const { order, paid, chosen, seconds } = model;
  const option = OPTIONS[which % OPTIONS.length]!;
  const families = new Set([...chosen].map(({ family }) => family));
  if (what === 'choose') {
    const { outcome } = await choose(s.admin, order, option);
    const isOpen = model.status === 'INIT' || model.status === 'PENDING';
    expect(outcome).toBe(isOpen || model.current === option ? 'CHOSEN' : 'CLOSED');
    if (outcome === 'CHOSEN') chosen.add(option);
    if (outcome === 'CHOSEN') model.current = option;
    return;
  }
  if (what === 'time') {
    seconds.set(option.chain, TTL + 60);
    await s.chainAt(120, TTL + 60, option.chain);
    await s.sweepDue();
  } else if (what === 'verify') {
    const one = paid[which % Math.max(paid.length, 1)];
    if (one === undefined || one.row.state === 'VERIFIED') return;
    one.row = await s.verify(one.row);
    await s.verified(one.row);
  } else {
    if (!families.has(option.family)) return;
    const amount = (option.amount * BigInt(percent)) / 100n + BigInt(which % 2);
    const isInTime = what === 'pay';
    const row = await pay(order, option, amount, { atSecond: isInTime ? 60 : TTL + 30 });
    paid.push({ row, option, amount, isInTime });
    await s.detected(row);
  }
  decide(model);
}

const WHAT = ['choose', 'choose', 'pay', 'pay', 'pay', 'late', 'verify', 'verify', 'time'] as const;
const aStep: fc.Arbitrary<Step> = fc
  .tuple(fc.constantFrom(...WHAT), fc.nat({ max: 11 }), fc.constantFrom(0, 1, 20, 37, 50, 63, 80, 100))
  .map(([what, which, percent]) => [
    what,
    which,
    what === 'pay' || what === 'late' ? Math.max(percent, 1) : percent,
  ]);

test('gives each payment once to its order, in any sequence of events', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(aStep, { minLength: 4, maxLength: 14 }), async (steps) => {
      for (const chain of CHAINS) await s.chainAt(120, 200, chain);
      const model: Model = {
        order: await anOrder(),
        paid: [],
        chosen: new Set(),
        current: undefined,
        seconds: new Map(),
        status: 'INIT',
        credited: [],
      };
      for (const step of steps) {
        await take(model, step);
        expect({ step, status: (await s.state(model.order)).status }).toEqual({ step, status: model.status });
      }
      const sums = new Map<string, bigint>();
      for (const { option, amount } of model.credited)
        sums.set(option.chain, (sums.get(option.chain) ?? 0n) + amount);
      const credited = new Map((await creditsOf(model.order)).map(({ chain, amount }) => [chain, amount]));
      expect(credited).toEqual(sums);
      expect(await bookedOf(model.order)).toBe(
        model.paid.filter(({ row }) => row.state === 'VERIFIED').length,
      );
    }),
    { numRuns: Number(process.env['RUNS'] ?? 6), seed: Number(process.env['SEED'] ?? 1) },
  );
});

/** Transfers that are booked for the order; each verified one is, once. */
async function bookedOf(order: Order): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from transfer_settlement where order_pk = ${order.order_pk} and booked`.execute(
    s.admin,
  );
  return rows[0]?.n ?? 0;
}
