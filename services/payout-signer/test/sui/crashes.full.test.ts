import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { ExpiringSender } from '@opentill/chain/expiring-sender';
import { createCrashPoints, type CrashPoints } from '@opentill/testkit/crash-points';
import type { OrderRow } from '@opentill/testkit/scenario';
import { seededRandom } from '@opentill/testkit/seeded-random';
import { checkSuiChain } from './check-sui-chain.ts';
import { COLD, createSuiWorld, ONE_SUI, ONE_USDC, type RunningSigner, type SuiWorld } from './sui-world.ts';
import { endLeases } from '../world/end-leases.ts';
import { requireProgress } from '../world/require-progress.ts';

// Two signers pay and sweep on SUI and crash at any SQL statement and any call to the chain. Nodes reject everything
// until epochs of signed transactions end. Each payout is paid once, each deposit address is swept once.

const SEED = Number(process.env['SEED'] ?? 20_261_122);
const CRASHES = Number(process.env['CRASHES'] ?? 150);
const PAYOUTS = 60;
const DEPOSITS = 30;
/** Steps: statements and calls, each with a side before and one after. */
const LIFE_MAX = 250;

let world: SuiWorld;
beforeAll(async () => {
  world = await createSuiWorld({}, { nodes: 2 });
});
afterAll(() => world.close());

function wrapSender(sender: ExpiringSender, points: CrashPoints): ExpiringSender {
  return {
    ...sender,
    balances: points.wrap('balances', sender.balances),
    prepare: points.wrap('prepare', sender.prepare),
    epochs: { currentWindow: points.wrap('currentWindow', sender.epochs!.currentWindow) },
    sign: points.wrap('sign', sender.sign),
    gathering: { signGathering: points.wrap('signGathering', sender.gathering!.signGathering) },
    broadcast: points.wrap('broadcast', sender.broadcast),
    findInBlocks: points.wrap('findInBlocks', sender.findInBlocks),
  };
}

interface Life {
  readonly points: CrashPoints;
  readonly runner: RunningSigner;
}

test(`pays and sweeps exactly once with two replicas that crash (seed ${SEED})`, async () => {
  const random = seededRandom(SEED);
  const counts = { crashes: 0, outages: 0, lostReplies: 0, coins: 0 };
  const diedAt = new Map<string, number>();
  const payouts: OrderRow[] = [];
  const deposits: OrderRow[] = [];
  let outageTurns = 0;

  async function startLife(): Promise<Life> {
    const points = createCrashPoints();
    if (counts.crashes < CRASHES)
      points.crashAt(1 + Math.floor(random() * LIFE_MAX), random() < 0.85 ? 'crash' : 'lose');
    const runner = await world.start({
      leaseTtlMs: 10_000,
      sweep: {},
      wrapPool: points.wrapPool,
      sender: (sender) => wrapSender(sender, points),
    });
    return { points, runner };
  }
  async function disturbChain(): Promise<void> {
    const nodes = [world.devnet.control, world.other!];
    if (outageTurns > 0) {
      outageTurns -= 1;
      if (outageTurns % 4 === 0) await world.passEpoch();
      if (outageTurns === 0) for (const node of nodes) node.clearFaults();
      return;
    }
    const chance = random();
    if (chance < 0.02) {
      // The nodes reject everything until transactions sent meanwhile have expired.
      for (const node of nodes) node.fault({ kind: 'swallow-execute' });
      counts.outages += 1;
      outageTurns = 16;
    } else if (chance < 0.08) {
      for (const node of nodes) node.fault({ kind: 'lose-execute-answer', times: 5 });
      counts.lostReplies += 1;
    } else if (chance < 0.1) {
      // The wallet's own money arrives as coins, which get gathered.
      await world.devnet.control.fund(world.wallet, {
        symbol: 'USDC',
        amountBaseUnits: ONE_USDC,
        form: 'coin',
      });
      counts.coins += 1;
    }
  }
  const isDone = async (): Promise<boolean> => {
    const { rows } = await sql<{ open: number }>`
      select (select count(*) from payout p where p.money <> 'PAID_OUT' and not exists (
          select from movement m where m.order_pk = p.order_pk))::int
        + (select count(*) from deposit_balance where swept <> received)::int
        + (select count(*) from payout_attempt where state = 'OPEN')::int
        + (select count(*) from sweep where state = 'OPEN')::int as open`.execute(world.admin);
    const open = rows[0]?.open ?? 0;
    progress({ crashes: counts.crashes, payouts: payouts.length, deposits: deposits.length, open });
    const isOver = payouts.length === PAYOUTS && deposits.length === DEPOSITS && counts.crashes >= CRASHES;
    return isOver && open === 0;
  };

  const replicas = [await startLife(), await startLife()];
  const progress = requireProgress();
  while (!(await isDone())) {
    const share = (counts.crashes + 8) / CRASHES;
    if (payouts.length < Math.min(PAYOUTS, PAYOUTS * share))
      payouts.push(random() < 0.8 ? await world.payout() : await world.nativePayout(ONE_SUI));
    if (deposits.length < Math.min(DEPOSITS, DEPOSITS * share)) {
      const form = (['coin', 'address', 'party'] as const)[deposits.length % 3]!;
      const symbol = random() < 0.6 ? 'USDC' : 'USDT';
      deposits.push(...(await world.paidMany([BigInt(deposits.length + 1) * ONE_USDC + 1n], symbol, form)));
    }
    for (const [place, life] of replicas.entries()) {
      if (!life.points.crashed && random() < 0.02 && counts.crashes < CRASHES) life.points.crashAt(1);
      if (!life.points.crashed) continue;
      const step = life.points.steps.at(-1) ?? '';
      diedAt.set(step, (diedAt.get(step) ?? 0) + 1);
      counts.crashes += 1;
      await life.runner.stop();
      await endLeases(world.admin);
      replicas[place] = await startLife();
    }
    await disturbChain();
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  for (const life of replicas) await life.runner.stop();

  const { rows } = await sql<{ attempts: number; dead: number }>`
    select count(*)::int as attempts, (count(*) filter (where state = 'DEAD'))::int as dead from payout_attempt`.execute(
    world.admin,
  );
  const found = await checkSuiChain(world, payouts);
  process.stderr.write(`${JSON.stringify({ ...counts, ...rows[0], places: diedAt.size, ...found })}\n`);
  expect(found).toEqual({ payouts: PAYOUTS, wrong: [] });
  for (const symbol of ['USDC', 'USDT'] as const) {
    const received = await sql<{ sum: bigint }>`
      select coalesce(sum(received), 0) as sum from deposit_balance where symbol = ${symbol}`.execute(
      world.admin,
    );
    expect(await world.heldBy(COLD, world.devnet.tokens[symbol])).toBe(BigInt(received.rows[0]!.sum));
    expect(await world.balance('COLD', symbol)).toBe(BigInt(received.rows[0]!.sum));
  }
  for (const order of deposits) {
    expect(await world.received(order)).toBe(0n);
    expect(await world.heldBy(order.address)).toBe(0n);
  }
  const gathered = await sql<{ n: number }>`
    select count(*)::int as n from own_transaction_fate f join own_transaction t using (chain, tx_hash)
    where t.purpose = 'GATHER' and f.state = 'VERIFIED' and f.succeeded`.execute(world.admin);
  expect(gathered.rows[0]!.n).toBeGreaterThan(0);
  expect(counts.crashes).toBeGreaterThanOrEqual(CRASHES);
  expect(diedAt.size).toBeGreaterThan(25);
  expect(counts.outages).toBeGreaterThan(2);
  // Otherwise the test would not cover expiry.
  expect(rows[0]!.dead).toBeGreaterThan(3);
}, 1_800_000);
