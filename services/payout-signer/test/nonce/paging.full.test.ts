import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import { anEvmAddress, aPayout, type OrderRow } from '@opentill/testkit/scenario';
import { policyFor, type PolicyMaker } from './policy-for.ts';
import {
  CHAIN,
  createStaticChainWorld,
  ONE_USDT,
  USDT,
  type StaticChainWorld,
} from './static-chain-world.ts';

// Blocked payouts must neither hide those that can continue nor make a pass more expensive.
const PAGE = 200;

let world: StaticChainWorld;
let maker: PolicyMaker;
beforeAll(async () => {
  world = await createStaticChainWorld();
  maker = policyFor(world);
});
afterAll(() => world.close());
afterEach(async () => {
  await release();
  await sql`update asset_hold set released_at = now() where released_at is null`.execute(world.admin);
  await world.settle();
});

const halt = () =>
  sql`insert into wallet_halt (halt_id, chain, kind, reason, set_by)
    values (gen_random_uuid(), ${CHAIN}, 'OPERATOR', 'a test', 'test')`.execute(world.admin);
const release = () =>
  sql`update wallet_halt set released_at = now() where released_at is null`.execute(world.admin);
const holdUsdt = () =>
  sql`insert into asset_hold (hold_id, chain, symbol, reason, set_at)
    values (gen_random_uuid(), ${CHAIN}, 'USDT', 'a test', now())`.execute(world.admin);

async function many(count: number): Promise<readonly OrderRow[]> {
  const { admin, wallet } = world;
  const amount = 5n * ONE_USDT;
  const first = await aPayout(admin, {
    symbol: 'USDT',
    contract_address: USDT,
    decimals: 6,
    amount,
    accepted_amount: amount,
    address: anEvmAddress(),
    source_address: wallet,
  });
  const { rows } = await sql<OrderRow>`
    insert into orders (order_pk, merchant_id, order_id, order_type, chain, family, symbol, contract_address, decimals,
      display_decimals, amount, accepted_amount, address, source_address, created_at, expires_at)
    select gen_random_uuid(), merchant_id, order_id || '-' || i, order_type, chain, family, symbol, contract_address, decimals,
      display_decimals, amount, accepted_amount, address, source_address, created_at, expires_at
    from orders, generate_series(1, ${count}) as i where order_pk = ${first.order_pk}
    returning *`.execute(admin);
  const orderPks = rows.map(({ order_pk: orderPk }) => orderPk);
  await sql`select count(reserve(order_pk)) from unnest(${orderPks}::uuid[]) as o (order_pk)`.execute(admin);
  await sql`update payout p set requested_at = now() - interval '1 hour' + o.place * interval '1 millisecond'
    from unnest(${orderPks}::uuid[]) with ordinality as o (order_pk, place) where p.order_pk = o.order_pk`.execute(
    admin,
  );
  return rows;
}

async function withObstacle(obstacle: string): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from payout where state = 'REQUESTED' and obstacle = ${obstacle}`.execute(
    world.admin,
  );
  return rows[0]!.n;
}

interface Passes {
  pass(): Promise<void | 'again'>;
}

async function passesUntil(holds: () => Promise<boolean>, driver: Passes, most: number): Promise<number> {
  for (let passes = 1; passes <= most; passes += 1) {
    await driver.pass();
    if (await holds()) return passes;
  }
  return most + 1;
}
const isSigned = (order: OrderRow) => async () => (await world.payoutOf(order)).state === 'SIGNED';
const pages = (count: number) => Math.ceil(count / PAGE);

test.each([199, 200, 201, 400])(
  'detects the end of a halt behind %i payouts of an asset on hold',
  async (count) => {
    await halt();
    await many(count);
    const last = await world.nativePayout(1n);
    const driver = world.driver();
    const allKnown = async () => (await withObstacle('HALTED')) === count + 1;
    expect(await passesUntil(allKnown, driver, pages(count) + 1)).toBeLessThanOrEqual(pages(count) + 1);
    while ((await driver.pass()) === 'again');
    await holdUsdt();
    await release();
    const round = pages(count + 1) + 1;
    expect(await passesUntil(isSigned(last), driver, round)).toBeLessThanOrEqual(round);
    const allHeld = async () => (await withObstacle('ASSET_HELD')) === count;
    expect(await passesUntil(allHeld, driver, round)).toBeLessThanOrEqual(round);
    await halt();
    const another = await world.nativePayout(1n);
    await driver.pass();
    expect(await world.payoutOf(another)).toMatchObject({ obstacle: 'HALTED' });
    await release();
    const most = pages(count) + 1;
    expect(await passesUntil(isSigned(another), world.driver(), most)).toBeLessThanOrEqual(most);
  },
  60_000,
);

test.each([199, 200, 201, 400])(
  'signs the approved ones of %i payouts waiting for approval in the next pass',
  async (count) => {
    const policy = maker.policy({ approvalAbove: '4' });
    const orders = await many(count);
    const driver = world.driver({ policy });
    const allWait = async () => (await withObstacle('NEEDS_APPROVAL')) === count;
    expect(await passesUntil(allWait, driver, pages(count) + 1)).toBeLessThanOrEqual(pages(count) + 1);
    while ((await driver.pass()) === 'again');
    for (const order of [orders.at(-1), orders[0], orders[count >> 1]]) {
      await maker.approve(order!);
      expect(await passesUntil(isSigned(order!), driver, 2)).toBeLessThanOrEqual(2);
    }
    // Approved while no driver ran: the first round reads all of them.
    await maker.approve(orders.at(-2)!);
    await sql`update payout_approval set approved_at = now() - interval '2 days' where order_pk = ${orders.at(-2)!.order_pk}`.execute(
      world.admin,
    );
    const most = pages(count) + 1;
    expect(await passesUntil(isSigned(orders.at(-2)!), world.driver({ policy }), most)).toBeLessThanOrEqual(
      most,
    );
  },
  60_000,
);

test('needs as many statements per pass with a thousand waiting payouts as with ten', async () => {
  const costOf = async (driver: Passes): Promise<{ statements: number; calls: number }> => {
    let first = 0;
    while ((await driver.pass()) === 'again') first += 1;
    expect(first).toBeLessThanOrEqual(2 * pages(1_000) + 2);
    const costs: { statements: number; calls: number }[] = [];
    for (let i = 0; i < 8; i += 1) {
      const before = [world.statements(), world.allCalls()] as const;
      await driver.pass();
      costs.push({ statements: world.statements() - before[0], calls: world.allCalls() - before[1] });
    }
    return {
      statements: Math.max(...costs.map(({ statements }) => statements)),
      calls: Math.max(...costs.map(({ calls }) => calls)),
    };
  };
  const policy = maker.policy({ approvalAbove: '4' });
  await holdUsdt();
  await many(5);
  const holding = await costOf(world.driver());
  await many(5);
  const waiting = await costOf(world.driver({ policy }));
  await many(500);
  await costOf(world.driver());
  await many(490);
  expect(await costOf(world.driver())).toEqual(holding);
  expect(await costOf(world.driver({ policy }))).toEqual(waiting);
  expect(holding.statements).toBeLessThan(25);
  expect(holding.calls).toBeLessThan(6);
});
