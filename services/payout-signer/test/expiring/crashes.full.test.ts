import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { ExpiringSender } from '@opentill/chain/expiring-sender';
import { createCrashPoints, type CrashPoints } from '@opentill/testkit/crash-points';
import type { OrderRow } from '@opentill/testkit/scenario';
import { seededRandom } from '@opentill/testkit/seeded-random';
import { checkChain } from './check-tron-chain.ts';
import { createTronWorld, ONE_TRX, type RunningDriver, type TronWorld } from './tron-world.ts';
import { endLeases } from '../world/end-leases.ts';
import { requireProgress } from '../world/require-progress.ts';

const SEED = Number(process.env['SEED'] ?? 20_261_121);
const CRASHES = Number(process.env['CRASHES'] ?? 200);
const PAYOUTS = 60;
// Turns of three blocks each: longer than anything is valid.
const OUTAGE_TURNS = 8;

let world: TronWorld;
beforeAll(async () => {
  world = await createTronWorld({ expirationSeconds: 30 });
});
afterAll(() => world.close());

function wrapSender(sender: ExpiringSender, points: CrashPoints): ExpiringSender {
  return {
    ...sender,
    balances: points.wrap('balances', sender.balances),
    prepare: points.wrap('prepare', sender.prepare),
    sign: points.wrap('sign', sender.sign),
    broadcast: points.wrap('broadcast', sender.broadcast),
    findInBlocks: points.wrap('findInBlocks', sender.findInBlocks),
  };
}

interface Life {
  readonly points: CrashPoints;
  readonly runner: RunningDriver;
}

test(`pays exactly once with two replicas that crash at every step (seed ${SEED})`, async () => {
  const random = seededRandom(SEED);
  const counts = { crashes: 0, lost: 0, outages: 0, reorgs: 0, lostReplies: 0, decisions: 0 };
  const diedAt = new Map<string, number>();
  const orders: OrderRow[] = [];
  let outageTurns = 0;

  async function startLife(name: string): Promise<Life> {
    const points = createCrashPoints();
    const fault = random() < 0.85 ? 'crash' : 'lose';
    if (counts.crashes < CRASHES) points.crashAt(1 + Math.floor(random() * 70), fault);
    if (fault === 'lose') counts.lost += 1;
    const runner = await world.start({
      name,
      leaseTtlMs: 10_000,
      wrapPool: points.wrapPool,
      sender: (sender) => wrapSender(sender, points),
    });
    return { points, runner };
  }
  async function endLife(life: Life): Promise<void> {
    const name = life.points.steps.at(-1) ?? '';
    diedAt.set(name, (diedAt.get(name) ?? 0) + 1);
    counts.crashes += 1;
    await life.runner.stop();
    await endLeases(world.admin);
  }
  async function disturbChain(): Promise<void> {
    const { control } = world.devnet;
    if (outageTurns > 0) {
      // The first outage lasts until a payout's attempts expired so often that it waits for an operator.
      if (outageTurns > 1 || counts.decisions > 0) outageTurns -= 1;
      await world.mine(3);
      if (outageTurns === 0) control.clearFaults();
      return;
    }
    const chance = random();
    if (chance < 0.03) {
      // The node accepts no transaction until those sent meanwhile have expired.
      control.fault({ kind: 'swallow-broadcast' });
      counts.outages += 1;
      outageTurns = OUTAGE_TURNS;
    } else if (chance < 0.07) {
      control.fault({ kind: 'lose-broadcast-answer' });
      counts.lostReplies += 1;
    } else if (chance < 0.11) control.clearFaults();
    else if (chance < 0.2) {
      await control.reorganise(1 + Math.floor(random() * 2), { drop: random() < 0.5 });
      counts.reorgs += 1;
    } else if (chance < 0.6) await world.mine();
  }

  async function decide(): Promise<void> {
    const { rows } = await sql`
      insert into payout_decision (decision_id, order_pk, decision, operator, reason)
      select gen_random_uuid(), order_pk, 'PAY_AGAIN', 'test', 'looked' from payout p
      where state = 'AUTHORISED' and obstacle = 'NEEDS_DECISION'
        and not exists (select from payout_decision d where d.order_pk = p.order_pk and d.handled_at is null)
      returning 1`.execute(world.admin);
    counts.decisions += rows.length;
  }

  const replicas = [await startLife('a'), await startLife('b')];
  const progress = requireProgress();
  const isDone = async (): Promise<boolean> => {
    const { rows } = await sql<{ settled: number }>`
      select count(*)::int as settled from payout_attempt where state = 'SETTLED'`.execute(world.admin);
    const settled = rows[0]?.settled ?? 0;
    progress({ crashes: counts.crashes, settled });
    return counts.crashes >= CRASHES && settled === PAYOUTS;
  };
  while (!(await isDone())) {
    if (orders.length < (PAYOUTS * counts.crashes) / CRASHES + 3 && orders.length < PAYOUTS)
      orders.push(random() < 0.8 ? await world.payout() : await world.nativePayout(3n * ONE_TRX));
    for (const [place, life] of replicas.entries()) {
      if (!life.points.crashed && random() < 0.02 && counts.crashes < CRASHES) life.points.crashAt(1);
      if (!life.points.crashed) continue;
      await endLife(life);
      replicas[place] = await startLife(place === 0 ? 'a' : 'b');
    }
    await decide();
    await disturbChain();
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  for (const life of replicas) await life.runner.stop();

  const found = await checkChain(world, orders);
  const { rows } = await sql<{ attempts: number; dead: number; orphaned: number }>`
    select count(*)::int as attempts, (count(*) filter (where state = 'DEAD'))::int as dead,
      (select count(*)::int from own_transaction_fate where version > 2) as orphaned from payout_attempt`.execute(
    world.admin,
  );
  process.stderr.write(`${JSON.stringify({ ...counts, ...rows[0], places: diedAt.size, ...found })}\n`);
  expect(found).toEqual({ payouts: PAYOUTS, wrong: [] });
  expect(counts.crashes).toBeGreaterThanOrEqual(CRASHES);
  expect(diedAt.size).toBeGreaterThan(25);
  expect(counts.outages).toBeGreaterThan(2);
  expect(counts.reorgs).toBeGreaterThan(5);
  expect(counts.decisions).toBeGreaterThan(0);
  // Otherwise the test would not cover expiry.
  expect(rows[0]!.dead).toBeGreaterThan(3);
}, 1_800_000);
