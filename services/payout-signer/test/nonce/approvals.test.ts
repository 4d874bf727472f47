import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { aMerchant, type OrderRow } from '@opentill/testkit/scenario';
import { policyFor, type PolicyMaker } from './policy-for.ts';
import { CHAIN, createStillWorld, ONE_USDT, type StillWorld } from './still-world.ts';

/*
 * What waits for approval holds money that all merchants share: it counts where limits let payouts in, and it does not wait
 * for ever.
 */

let world: StillWorld;
let maker: PolicyMaker;
beforeAll(async () => {
  world = await createStillWorld();
  maker = policyFor(world);
});
afterAll(() => world.close());
afterEach(async () => {
  await resume();
  await world.settle();
  // The windows are empty for the next.
  await world.passTime('2 days');
});

const usdt = (amount: number) => BigInt(amount) * ONE_USDT;
const merchant = async () => (await aMerchant(world.admin)).merchantId;
const limits = { approvalAbove: '10', maxPerMerchantPerDay: '60', maxPerDay: '100' };
const driver = (more: Readonly<Record<string, unknown>> = {}) =>
  world.driver({ policy: maker.policy(limits, more) });
const asked = (amount: number, merchantId: string) =>
  world.payout({ amount: usdt(amount), merchant_id: merchantId });
async function rowOf(order: OrderRow) {
  const { rows } = await sql<{ state: string; obstacle: string | null; reason: string | null }>`
    select state, obstacle, reason from payout where order_pk = ${order.order_pk}`.execute(world.admin);
  return rows[0]!;
}
const waits = { state: 'REQUESTED', obstacle: 'NEEDS_APPROVAL', reason: null };
const refused = (reason: string) => ({ state: 'REFUSED', obstacle: null, reason });
const halt = (kind: string) =>
  sql`insert into wallet_halt (halt_id, chain, wallet, kind, reason, set_by)
    values (gen_random_uuid(), ${CHAIN}, ${world.wallet}, ${kind}, 'a test', 'test')`.execute(world.admin);
/** What stops the wallet, and whether the policy's word is final meanwhile. */
const STOPS: readonly (readonly [string, boolean, () => unknown])[] = [
  ['a halt of operators', true, () => halt('OPERATOR')],
  ['a halt after a restore', false, () => halt('RESTORED')],
  [
    'a hold of its asset',
    true,
    () =>
      sql`insert into asset_hold (hold_id, chain, symbol, reason, set_at)
        values (gen_random_uuid(), ${CHAIN}, 'USDT', 'a test', now())`.execute(world.admin),
  ],
  ['a chain that is ahead', false, () => (world.chain.count = 1_000)],
];
async function resume(): Promise<void> {
  await sql`update wallet_halt set released_at = now() where released_at is null`.execute(world.admin);
  await sql`update asset_hold set released_at = now() where released_at is null`.execute(world.admin);
  world.chain.count = 0;
}
/** Its wait began so long ago. */
const waited = (order: OrderRow, ago: string) =>
  sql`update payout set waiting_since = now() - ${ago}::interval, obstacle_at = now() - ${ago}::interval
    where order_pk = ${order.order_pk}`.execute(world.admin);

describe('what waits for approval', () => {
  test('has its place in its merchant’s day: more is refused, and nobody else is', async () => {
    const [shop, other] = [await merchant(), await merchant()];
    const first = await asked(40, shop);
    await driver().pass();
    expect(await rowOf(first)).toEqual(waits);
    const [tooMuch, justEnough, small, foreign] = [
      await asked(21, shop),
      await asked(11, shop),
      await asked(10, shop),
      await asked(12, other),
    ];
    await driver().pass();
    expect(await rowOf(tooMuch)).toEqual(refused('Limit per merchant and day exceeded'));
    expect(await rowOf(justEnough)).toEqual(waits);
    // 51 wait: 10 more would be 61.
    expect(await rowOf(small)).toEqual(refused('Limit per merchant and day exceeded'));
    expect(await rowOf(foreign)).toEqual(waits);
  });

  test('and in the day of all, also among those of one look; what was let in is not refused for what came later', async () => {
    const shops = await Promise.all([merchant(), merchant(), merchant()]);
    const orders: OrderRow[] = [];
    for (const shop of shops) orders.push(await asked(45, shop));
    await driver().pass();
    const [one, two, three] = orders as [OrderRow, OrderRow, OrderRow];
    expect(await rowOf(three)).toEqual(refused('Limit per day exceeded'));
    await maker.approve(two);
    await driver().pass();
    expect(await rowOf(two)).toMatchObject({ state: 'SIGNED' });
    expect(await rowOf(one)).toEqual(waits);
    // 45 signed, 45 wait.
    const [late, fits] = [await asked(11, shops[2]), await asked(10, shops[2])];
    await driver().pass();
    expect(await rowOf(late)).toEqual(refused('Limit per day exceeded'));
    expect(await rowOf(fits)).toMatchObject({ state: 'SIGNED' });
    await maker.approve(one);
    await driver().pass();
    expect(await rowOf(one)).toMatchObject({ state: 'SIGNED' });
  });

  test.each(STOPS)('keeps its place once it is approved, under %s', async (_what, isFinal, stop) => {
    const shop = await merchant();
    const first = await asked(40, shop);
    const running = driver();
    await running.pass();
    expect(await rowOf(first)).toEqual(waits);
    await stop();
    await maker.approve(first);
    for (let i = 0; i < 3; i += 1) await running.pass();
    expect(await rowOf(first)).toEqual(waits);
    const [tooMuch, fits] = [await asked(21, shop), await asked(20, shop)];
    for (let i = 0; i < 3; i += 1) await running.pass();
    if (isFinal) expect(await rowOf(tooMuch)).toEqual(refused('Limit per merchant and day exceeded'));
    else expect(await rowOf(tooMuch)).toMatchObject({ state: 'REQUESTED' });
    expect(await rowOf(fits)).toEqual(waits);
    // Whoever handed the approval in had begun before it was judged, and everything is long ago.
    await sql`update payout_approval set approved_at = now() - interval '2 hours'
      where order_pk = ${first.order_pk}`.execute(world.admin);
    await running.pass();
    await resume();
    for (let i = 0; i < 4; i += 1) await running.pass();
    expect(await rowOf(first)).toMatchObject({ state: 'SIGNED', obstacle: null });
    expect(await rowOf(tooMuch)).toEqual(refused('Limit per merchant and day exceeded'));
    expect(await rowOf(fits)).toEqual(waits);
  });

  test('does not hold up what is authorised', async () => {
    const shop = await merchant();
    const order = await asked(10, shop);
    world.chain.gasMoney = 0n;
    await driver().pass();
    world.chain.gasMoney = 10n ** 20n;
    expect(await rowOf(order)).toMatchObject({ state: 'AUTHORISED' });
    // As a database of before has them: nobody counted what waits.
    const waiting = await asked(60, shop);
    await sql`update payout set obstacle = 'NEEDS_APPROVAL', obstacle_at = now(), waiting_since = now()
      where order_pk = ${waiting.order_pk}`.execute(world.admin);
    await driver().pass();
    expect(await rowOf(order)).toMatchObject({ state: 'SIGNED' });
  });

  test('when limits are lowered, the ones that fit still wait', async () => {
    const shop = await merchant();
    const [one, two] = [await asked(30, shop), await asked(30, shop)];
    await driver().pass();
    const lower = { ...limits, maxPerMerchantPerDay: '45' };
    await world.driver({ policy: maker.policy(lower) }).pass();
    expect(await rowOf(one)).toEqual(refused('Limit per merchant and day exceeded'));
    expect(await rowOf(two)).toEqual(waits);
  });

  test('ends when the policy’s time for it is over, and gives its money back', async () => {
    const shop = await merchant();
    const [over, young] = [await asked(30, shop), await asked(20, shop)];
    const running = driver();
    await running.pass();
    while ((await running.pass()) === 'again');
    await waited(over, '24 hours');
    await waited(young, '23 hours 59 minutes');
    await running.pass();
    expect(await rowOf(over)).toEqual(refused('Approval missing'));
    expect(await rowOf(young)).toEqual(waits);
    const { rows: told } = await sql<{ payload: string }>`select payload from signer.outbox`.execute(
      world.admin,
    );
    expect(told.map(({ payload }) => payload).join()).toContain(over.order_pk);
    const { rows: moved } = await sql<{ became: string }>`
      select became from settle_payout_money(array[${over.order_pk}::uuid])`.execute(world.admin);
    expect(moved).toEqual([{ became: 'RELEASED' }]);
    // Its place is free again.
    const next = await asked(40, shop);
    await running.pass();
    expect(await rowOf(next)).toEqual(waits);
    await world.driver({ policy: maker.policy(limits, { approvalWaitHours: 0.5 }) }).pass();
    expect(await rowOf(young)).toEqual(refused('Approval missing'));
  });

  test('is not refused for it once it is approved, however late it is looked at, nor while it may have been paid', async () => {
    const shop = await merchant();
    const [approved, doubtful] = [await asked(30, shop), await asked(20, shop)];
    await driver().pass();
    await maker.approve(approved);
    await sql`insert into wallet_halt (halt_id, chain, wallet, kind, reason)
      values (gen_random_uuid(), ${CHAIN}, ${world.wallet}, 'RESTORED', 'a test')`.execute(world.admin);
    await waited(doubtful, '25 hours');
    await driver().pass();
    expect(await rowOf(doubtful)).toEqual(waits);
    await waited(approved, '25 hours');
    await sql`update wallet_halt set released_at = now() where released_at is null`.execute(world.admin);
    await driver().pass();
    expect(await rowOf(approved)).toMatchObject({ state: 'SIGNED' });
    expect(await rowOf(doubtful)).toEqual(refused('Approval missing'));
  });

  test('and waited for another word of operators before begins to wait when that was said', async () => {
    const order = await asked(30, await merchant());
    await sql`insert into restoration (restore_id, backup_id, taken_at)
      values (gen_random_uuid(), 'b', now()) on conflict do nothing`.execute(world.admin);
    await sql`insert into doubtful_payout (order_pk, restore_id) select ${order.order_pk}, restore_id from restoration limit 1`.execute(
      world.admin,
    );
    await sql`update payout set obstacle = 'MAYBE_PAID', obstacle_at = now(), waiting_since = now() - interval '3 days',
      expires_at = now() - interval '2 days' where order_pk = ${order.order_pk}`.execute(world.admin);
    await driver().pass();
    expect(await rowOf(order)).toMatchObject({ obstacle: 'MAYBE_PAID' });
    await sql`update doubtful_payout set decision = 'PAY', decided_by = 'alice'`.execute(world.admin);
    await driver().pass();
    expect(await rowOf(order)).toEqual(waits);
    await maker.approve(order);
    await driver().pass();
    expect(await rowOf(order)).toMatchObject({ state: 'SIGNED' });
  });
});

describe('approvals that are not enough', () => {
  const HALF = 229;

  test('hide none that are, however many there are and however late they came', async () => {
    const shop = await merchant();
    const orders = await Promise.all(Array.from({ length: HALF + 1 }, () => asked(5, shop)));
    const approved = orders.pop()!;
    const bob = maker.another();
    const both = maker.policy({ approvalAbove: '4' }, { approvalsRequired: 2, approvers: bob.approvers });
    const running = world.driver({ policy: both });
    await running.pass();
    while ((await running.pass()) === 'again');
    await Promise.all(orders.map((order) => maker.approve(order)));
    for (let i = 0; i < 3; i += 1) await running.pass();
    // These were judged a while ago, of each of them its one approval within the seconds that one may come late.
    await sql`update payout set obstacle_at = now() - interval '20 seconds'
      where obstacle = 'NEEDS_APPROVAL' and order_pk <> ${approved.order_pk}`.execute(world.admin);
    await sql`update payout_approval a set approved_at = p.obstacle_at - interval '1 second' from payout p
      where p.order_pk = a.order_pk and p.obstacle = 'NEEDS_APPROVAL'`.execute(world.admin);
    const look = (requested: number) =>
      world.store.look({
        requested,
        unsigned: 1,
        everyWaiting: false,
        approvers: both.approvers,
        approvalWaitMs: 86_400_000,
      });
    expect((await look(200)).requested).toEqual([]);
    // Another word of each of them is news; the latest comes first.
    await sql`update payout_approval set approved_at = now()`.execute(world.admin);
    expect((await look(200)).requested).toHaveLength(200);
    await maker.approve(approved);
    await bob.approve(approved);
    expect((await look(1)).requested).toMatchObject([{ orderPk: approved.order_pk }]);
    await running.pass();
    expect(await rowOf(approved)).toMatchObject({ state: 'SIGNED' });
    // Who handed one in before its payout was judged and committed later is heard all the same.
    const late = orders[0]!;
    await sql`update payout_approval set approved_at = now() - interval '20 seconds'`.execute(world.admin);
    await bob.approve(late);
    await sql`update payout set obstacle_at = clock_timestamp() + interval '1 minute' where order_pk = ${late.order_pk}`.execute(
      world.admin,
    );
    for (let i = 0; i < 3; i += 1) await running.pass();
    expect(await rowOf(late)).toMatchObject({ state: 'SIGNED' });
  });
});

describe('approvals by keys that the policy does not name', () => {
  const STRANGER = 'ab'.repeat(32);
  const approveAsStranger = (order: OrderRow, key = STRANGER) =>
    sql`insert into payout_approval (order_pk, approver, signature, approved_at)
      values (${order.order_pk}, ${key}, decode(repeat('00', 64), 'hex'), now() + interval '1 hour')`.execute(
      world.admin,
    );

  test('are not read, and hide none that counts', async () => {
    const orders: OrderRow[] = [];
    for (let i = 0; i < 5; i += 1) orders.push(await asked(12, await merchant()));
    const policy = maker.policy(limits);
    await world.driver({ policy }).pass();
    const look = () =>
      world.store.look({
        requested: 2,
        unsigned: 2,
        everyWaiting: false,
        approvers: policy.approvers,
        approvalWaitMs: 86_400_000,
      });
    for (const order of orders) await approveAsStranger(order);
    expect((await look()).requested).toEqual([]);
    const approved = orders.at(-1)!;
    for (let i = 0; i < 20; i += 1) await approveAsStranger(approved, i.toString(16).padStart(64, '0'));
    await maker.approve(approved);
    const [found, ...others] = (await look()).requested;
    expect(others).toEqual([]);
    expect(found).toMatchObject({ orderPk: approved.order_pk });
    expect(found?.approvals.map(({ approver }) => approver)).toEqual(policy.approvers);
  });
});
