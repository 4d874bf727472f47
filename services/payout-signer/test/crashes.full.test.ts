import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { WalletSender } from '@opentill/chain/wallet-sender';
import { callRpc } from '@opentill/devnet/json-rpc';
import { createCrashPoints, type CrashPoints } from '@opentill/testkit/crash-points';
import type { OrderRow } from '@opentill/testkit/scenario';
import { seededRandom } from '@opentill/testkit/seeded-random';
import { checkChain } from './check-chain.ts';
import { createSignerWorld, ONE_ETH, type RunningDriver, type SignerWorld } from './signer-world.ts';

const SEED = Number(process.env['SEED'] ?? 20_261_121);
const CRASHES = Number(process.env['CRASHES'] ?? 320);
const PAYOUTS = 120;
const DEADLINE_MS = 540_000;

let world: SignerWorld;
beforeAll(async () => {
  world = await createSignerWorld();
});
afterAll(() => world.close());

/** A step on each side of everything that is asked of nodes. */
function wrapSender(sender: WalletSender, points: CrashPoints): WalletSender {
  const { latestCount, countAt, balances, currentPrices, prepare, sign, signCancel, broadcast } = sender;
  return {
    ...sender,
    latestCount: points.wrap('latestCount', latestCount),
    countAt: points.wrap('countAt', countAt),
    balances: points.wrap('balances', balances),
    currentPrices: points.wrap('currentPrices', currentPrices),
    prepare: points.wrap('prepare', prepare),
    sign: points.wrap('sign', sign),
    signCancel: points.wrap('signCancel', signCancel),
    broadcast: points.wrap('broadcast', broadcast),
  };
}

interface Life {
  readonly points: CrashPoints;
  readonly runner: RunningDriver;
}

test(`two replicas that crash at every step land every payout exactly once (seed ${SEED})`, async () => {
  const random = seededRandom(SEED);
  const counts = { crashes: 0, lost: 0, drops: 0, spikes: 0, reorgs: 0 };
  const diedAt = new Map<string, number>();
  const orders: OrderRow[] = [];

  async function beBorn(name: string): Promise<Life> {
    const points = createCrashPoints();
    const fault = random() < 0.85 ? 'crash' : 'lose';
    if (counts.crashes < CRASHES) points.crashAt(1 + Math.floor(random() * 70), fault);
    if (fault === 'lose') counts.lost += 1;
    const runner = await world.start({
      name,
      leaseTtlMs: 250,
      wrapPool: points.wrapPool,
      sender: (sender) => wrapSender(sender, points),
      timing: { bumpAfterMs: 400, sweepMs: 15 },
    });
    return { points, runner };
  }
  async function bury(life: Life): Promise<void> {
    const name = life.points.steps.at(-1) ?? '';
    diedAt.set(name, (diedAt.get(name) ?? 0) + 1);
    counts.crashes += 1;
    await life.runner.stop();
  }

  const replicas = [await beBorn('a'), await beBorn('b')];
  const deadline = Date.now() + DEADLINE_MS;
  const isDone = async (): Promise<boolean> => {
    if (orders.length < PAYOUTS || counts.crashes < CRASHES) return false;
    const { rows } = await sql<{ open: number }>`
      select count(*)::int as open from payout p
      where not exists (select from wallet_nonce n where n.order_pk = p.order_pk and n.state = 'FINAL')`.execute(
      world.admin,
    );
    return rows[0]?.open === 0;
  };
  for (let turn = 0; !(await isDone()); turn += 1) {
    if (Date.now() > deadline) throw new Error(`not done in time: ${JSON.stringify(counts)}`);
    // Payouts come as long as there are crashes to survive.
    if (orders.length < (PAYOUTS * counts.crashes) / CRASHES + 3 && orders.length < PAYOUTS)
      orders.push(random() < 0.8 ? await world.payout() : await world.nativePayout(ONE_ETH / 1_000n));
    for (const [place, life] of replicas.entries()) {
      // Besides the step that it was born to die at: some end where they happen to be.
      if (!life.points.crashed && random() < 0.01 && counts.crashes < CRASHES) life.points.crashAt(1);
      if (!life.points.crashed) continue;
      await bury(life);
      replicas[place] = await beBorn(place === 0 ? 'a' : 'b');
    }
    const chance = random();
    if (chance < 0.03) {
      await callRpc(world.rpcUrl, 'anvil_dropAllTransactions', []);
      counts.drops += 1;
    } else if (chance < 0.08) {
      await callRpc(world.rpcUrl, 'anvil_setNextBlockBaseFeePerGas', ['0x12a05f2000']);
      counts.spikes += 1;
    } else if (chance < 0.1) {
      await callRpc(world.rpcUrl, 'anvil_reorg', [1 + Math.floor(random() * 2), []]);
      counts.reorgs += 1;
    }
    if (random() < 0.5) await world.mine();
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  for (const life of replicas) await life.runner.stop();

  const found = await checkChain(world, orders);
  const { rows } = await sql<{ bumped: number; signed: number }>`
    select count(*)::int as signed, (count(*) - count(distinct nonce))::int as bumped from own_transaction`.execute(
    world.admin,
  );
  process.stderr.write(`${JSON.stringify({ ...counts, ...rows[0], places: diedAt.size, ...found })}\n`);
  expect(found).toEqual({ payouts: PAYOUTS, wrong: [] });
  expect(counts.crashes).toBeGreaterThanOrEqual(CRASHES);
  expect(diedAt.size).toBeGreaterThan(30);
  expect(counts.drops).toBeGreaterThan(0);
}, 600_000);
