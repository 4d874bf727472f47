import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { aMerchant, type OrderRow } from '@opentill/testkit/scenario';
import { policyFor, type PolicyMaker } from './policy-for.ts';
import { CHAIN, createStaticChainWorld, ONE_USDT, type StaticChainWorld } from './static-chain-world.ts';

let world: StaticChainWorld;
let maker: PolicyMaker;
beforeAll(async () => {
  world = await createStaticChainWorld();
  maker = policyFor(world);
});
afterAll(() => world.close());
afterEach(async () => {
  await resume();
  await world.settle();
  await world.passTime('2 days');
});

const usdt = (amount: number) => BigInt(amount) * ONE_USDT;
const merchant = async () => (await aMerchant(world.admin)).merchantId;
const limits = { approvalAbove: '10', maxPerMerchantPerDay: '60', maxPerDay: '100' };
const driver = (more: Readonly<Record<string, unknown>> = {}) =>
  world.driver({ policy: maker.policy(limits, more) });
const requestPayout = (amount: number, merchantId: string) =>
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
const waited = (order: OrderRow, ago: string) =>
  sql`update payout set waiting_since = now() - ${ago}::interval, obstacle_at = now() - ${ago}::interval
    where order_pk = ${order.order_pk}`.execute(world.admin);

describe('payout that waits for approval', () => {
  test("counts a waiting payout towards its own merchant's daily limit only", async () => {
    const [shop, other] = [await merchant(), await merchant()];
    const first = await requestPayout(40, shop);
    await driver().pass();
    expect(await rowOf(first)).toEqual(waits);
    const [tooMuch, justEnough, small, foreign] = [
      await requestPayout(21, shop),
      await requestPayout(11, shop),
      await requestPayout(10, shop),
      await requestPayout(12, other),
    ];
    await driver().pass();
    expect(await rowOf(tooMuch)).toEqual(refused('Limit per merchant and day exceeded'));
    expect(await rowOf(justEnough)).toEqual(waits);
    // 51 wait, so 10 more would make 61.
    expect(await rowOf(small)).toEqual(refused('Limit per merchant and day exceeded'));
    expect(await rowOf(foreign)).toEqual(waits);
  });

  test('counts a waiting payout towards the day and does not refuse it for later ones', async () => {
    const shops = await Promise.all([merchant(), merchant(), merchant()]);
    const orders: OrderRow[] = [];
    for (const shop of shops) orders.push(await requestPayout(45, shop));
    await driver().pass();
    const [one, two, three] = orders as [OrderRow, OrderRow, OrderRow];
    expect(await rowOf(three)).toEqual(refused('Limit per day exceeded'));
    await maker.approve(two);
    await driver().pass();
    expect(await rowOf(two)).toMatchObject({ state: 'SIGNED' });
    expect(await rowOf(one)).toEqual(waits);
    // 45 are signed, 45 wait.
    const [late, fits] = [await requestPayout(11, shops[2]), await requestPayout(10, shops[2])];
    await driver().pass();
    expect(await rowOf(late)).toEqual(refused('Limit per day exceeded'));
    expect(await rowOf(fits)).toMatchObject({ state: 'SIGNED' });
    await maker.approve(one);
    await driver().pass();
    expect(await rowOf(one)).toMatchObject({ state: 'SIGNED' });
  });

  test.each(STOPS)('counts an approved payout towards the limit during %s', async (_what, isFinal, stop) => {
    const shop = await merchant();
    const first = await requestPayout(40, shop);
    const running = driver();
    await running.pass();
    expect(await rowOf(first)).toEqual(waits);
    await stop();
    await maker.approve(first);
    for (let i = 0; i < 3; i += 1) await running.pass();
    expect(await rowOf(first)).toEqual(waits);
    const [tooMuch, fits] = [await requestPayout(21, shop), await requestPayout(20, shop)];
    for (let i = 0; i < 3; i += 1) await running.pass();
    if (isFinal) expect(await rowOf(tooMuch)).toEqual(refused('Limit per merchant and day exceeded'));
    else expect(await rowOf(tooMuch)).toMatchObject({ state: 'REQUESTED' });
    expect(await rowOf(fits)).toEqual(waits);
    // As if the approval's transaction had begun before the decision.
    await sql`update payout_approval set approved_at = now() - interval '2 hours'
      where order_pk = ${first.order_pk}`.execute(world.admin);
    await running.pass();
    await resume();
    for (let i = 0; i < 4; i += 1) await running.pass();
    expect(await rowOf(first)).toMatchObject({ state: 'SIGNED', obstacle: null });
    expect(await rowOf(tooMuch)).toEqual(refused('Limit per merchant and day exceeded'));
    expect(await rowOf(fits)).toEqual(waits);
  });

  test('authorises payouts while another waits for approval', async () => {
    const shop = await merchant();
    const order = await requestPayout(10, shop);
    world.chain.gasMoney = 0n;
    await driver().pass();
    world.chain.gasMoney = 10n ** 20n;
    expect(await rowOf(order)).toMatchObject({ state: 'AUTHORISED' });
    // Rows of an older version, which did not count waiting payouts.
    const waiting = await requestPayout(60, shop);
    await sql`update payout set obstacle = 'NEEDS_APPROVAL', obstacle_at = now(), waiting_since = now()
      where order_pk = ${waiting.order_pk}`.execute(world.admin);
    await driver().pass();
    expect(await rowOf(order)).toMatchObject({ state: 'SIGNED' });
  });

  test('keeps a waiting payout that lowered limits still cover', async () => {
    const shop = await merchant();
    const [one, two] = [await requestPayout(30, shop), await requestPayout(30, shop)];
    await driver().pass();
    const lower = { ...limits, maxPerMerchantPerDay: '45' };
    await world.driver({ policy: maker.policy(lower) }).pass();
    expect(await rowOf(one)).toEqual(refused('Limit per merchant and day exceeded'));
    expect(await rowOf(two)).toEqual(waits);
  });

  test("refuses a waiting payout after the policy's approval time and frees its money", async () => {
    const shop = await merchant();
    const [over, young] = [await requestPayout(30, shop), await requestPayout(20, shop)];
    const running = driver();
    await running.pass();
    while ((await running.pass()) === 'again');
    await waited(over, '24 hours');
    await waited(young, '23 hours 59 minutes');
    await running.pass();
    expect(await rowOf(over)).toEqual(refused('Approval missing'));
    expect(await rowOf(young)).toEqual(waits);
    const { rows: notified } = await sql<{ payload: string }>`select payload from signer.outbox`.execute(
      world.admin,
    );
    expect(notified.map(({ payload }) => payload).join()).toContain(over.order_pk);
    const { rows: moved } = await sql<{ became: string }>`
      select became from settle_payout_money(array[${over.order_pk}::uuid])`.execute(world.admin);
    expect(moved).toEqual([{ became: 'RELEASED' }]);
    const next = await requestPayout(40, shop);
    await running.pass();
    expect(await rowOf(next)).toEqual(waits);
    await world.driver({ policy: maker.policy(limits, { approvalWaitHours: 0.5 }) }).pass();
    expect(await rowOf(young)).toEqual(refused('Approval missing'));
  });

  test('does not refuse a late payout that is approved or may have been paid', async () => {
    const shop = await merchant();
    const [approved, doubtful] = [await requestPayout(30, shop), await requestPayout(20, shop)];
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

  test('starts the wait for approval after an earlier wait for a decision', async () => {
    const order = await requestPayout(30, await merchant());
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

describe('insufficient approvals', () => {
  const INSUFFICIENT = 9;

  test('finds sufficient approvals among any number of insufficient ones', async () => {
    const shop = await merchant();
    const orders = await Promise.all(Array.from({ length: INSUFFICIENT + 1 }, () => requestPayout(5, shop)));
    const approved = orders.pop()!;
    const bob = maker.another();
    const both = maker.policy({ approvalAbove: '4' }, { approvalsRequired: 2, approvers: bob.approvers });
    const running = world.driver({ policy: both });
    await running.pass();
    while ((await running.pass()) === 'again');
    await Promise.all(orders.map((order) => maker.approve(order)));
    for (let i = 0; i < 3; i += 1) await running.pass();
    // Decided a while ago. Each has one approval within the tolerated delay of a commit.
    await sql`update payout set obstacle_at = now() - interval '20 seconds'
      where obstacle = 'NEEDS_APPROVAL' and order_pk <> ${approved.order_pk}`.execute(world.admin);
    await sql`update payout_approval a set approved_at = p.obstacle_at - interval '1 second' from payout p
      where p.order_pk = a.order_pk and p.obstacle = 'NEEDS_APPROVAL'`.execute(world.admin);
    const readView = (requested: number) =>
      world.store.readView({
        requested,
        unsigned: 1,
        everyWaiting: false,
        approvers: both.approvers,
        approvalWaitMs: 86_400_000,
      });
    expect((await readView(5)).requested).toEqual([]);
    await sql`update payout_approval set approved_at = now()`.execute(world.admin);
    expect((await readView(5)).requested).toHaveLength(5);
    await maker.approve(approved);
    await bob.approve(approved);
    expect((await readView(1)).requested).toMatchObject([{ orderPk: approved.order_pk }]);
    await running.pass();
    expect(await rowOf(approved)).toMatchObject({ state: 'SIGNED' });
    // An approval whose transaction began before the decision and committed later also counts.
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

describe('approvals by keys outside the policy', () => {
  const STRANGER = 'ab'.repeat(32);
  const approveAsStranger = (order: OrderRow, key = STRANGER) =>
    sql`insert into payout_approval (order_pk, approver, signature, approved_at)
      values (${order.order_pk}, ${key}, decode(repeat('00', 64), 'hex'), now() + interval '1 hour')`.execute(
      world.admin,
    );

  test('ignores approvals by unknown keys and finds valid ones among them', async () => {
    const orders: OrderRow[] = [];
    for (let i = 0; i < 5; i += 1) orders.push(await requestPayout(12, await merchant()));
    const policy = maker.policy(limits);
    await world.driver({ policy }).pass();
    const readView = () =>
      world.store.readView({
        requested: 2,
        unsigned: 2,
        everyWaiting: false,
        approvers: policy.approvers,
        approvalWaitMs: 86_400_000,
      });
    for (const order of orders) await approveAsStranger(order);
    expect((await readView()).requested).toEqual([]);
    const approved = orders.at(-1)!;
    for (let i = 0; i < 20; i += 1) await approveAsStranger(approved, i.toString(16).padStart(64, '0'));
    await maker.approve(approved);
    const [found, ...others] = (await readView()).requested;
    expect(others).toEqual([]);
    expect(found).toMatchObject({ orderPk: approved.order_pk });
    expect(found?.approvals.map(({ approver }) => approver)).toEqual(policy.approvers);
  });
});
