import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { OrderRow } from '@opentill/testkit/scenario';
import { seededRandom } from '@opentill/testkit/seeded-random';
import { prepareEnvironment, startProcess, type SignerProcess } from '../nonce/signer-process.ts';
import { requireProgress } from '../world/require-progress.ts';
import { checkSuiChain } from './check-sui-chain.ts';
import { COLD, createSuiWorld, ONE_USDC, type SuiWorld } from './sui-world.ts';

const SEED = Number(process.env['SEED'] ?? 20_261_122);
const KILLS = Number(process.env['KILLS'] ?? 16);
const OPEN_AT_ONCE = 6;
/** Per asset and form: coins, an address balance, a party object. */
const DEPOSITS_EACH = 4;
const FORMS = ['coin', 'address', 'party'] as const;
const SYMBOLS = ['USDC', 'USDT'] as const;
const LIFE_MAX_MS = 6_000;

let world: SuiWorld;
beforeAll(async () => {
  world = await createSuiWorld({}, { nodes: 2 });
});
afterAll(() => world.close());

interface Replica {
  readonly process: SignerProcess;
  killAt: number | undefined;
}

interface Progress {
  readonly payouts: number;
  readonly moves: number;
  readonly swept: number;
  readonly gathered: number;
}

async function readProgress(): Promise<Progress> {
  const { rows } = await sql<Progress>`
    select (select count(*) from payout p where not exists (select from movement m where m.order_pk = p.order_pk)
        and not exists (select from payout_attempt a where a.order_pk = p.order_pk and a.state = 'SETTLED'))::int as payouts,
      ((select count(*) from deposit_balance where swept <> received) + (select count(*) from sweep where state = 'OPEN')
        + (select count(*) from payout_attempt where state = 'OPEN'))::int as moves,
      (select count(*) from sweep where state = 'DONE')::int as swept,
      (select count(*) from own_transaction_fate f join own_transaction t using (chain, tx_hash)
        where t.purpose = 'GATHER' and f.state = 'VERIFIED' and f.succeeded)::int as gathered`.execute(
    world.admin,
  );
  return rows[0]!;
}

async function payOneMore(deposits: OrderRow[]): Promise<void> {
  const place = deposits.length;
  const symbol = SYMBOLS[place % SYMBOLS.length]!;
  const form = FORMS[Math.floor(place / SYMBOLS.length) % FORMS.length]!;
  deposits.push(...(await world.paidMany([BigInt(place + 1) * ONE_USDC + BigInt(place)], symbol, form)));
}

test(`pays and sweeps once on SUI with processes killed at random (seed ${SEED})`, async () => {
  const random = seededRandom(SEED);
  const POLICY_FILE = await world.sealPolicy({});
  const env = { ...(await prepareEnvironment(world)), POLICY_FILE };
  const nodes = [world.devnet.control, world.other!];
  let births = 0;
  const born = async (): Promise<Replica> => {
    births += 1;
    return { process: await startProcess({ ...env, INSTANCE_ID: `killed-${births}` }), killAt: undefined };
  };
  const orders: OrderRow[] = [];
  const deposits: OrderRow[] = [];
  const DEPOSITS = DEPOSITS_EACH * SYMBOLS.length * FORMS.length;
  let kills = 0;
  let coins = 0;
  let underFire: Progress | undefined;
  const replicas = [await born(), await born()];
  const noteProgress = requireProgress();
  try {
    for (;;) {
      const progress = await readProgress();
      const isOver = progress.payouts + progress.moves === 0 && progress.gathered > 0;
      if (kills >= KILLS) underFire ??= progress;
      if (kills >= KILLS && deposits.length >= DEPOSITS && isOver) break;
      noteProgress({ kills, orders: orders.length, deposits: deposits.length, ...progress });
      // Payouts are always in flight, and the process that takes over finds new ones.
      if (kills < KILLS && (progress.payouts < OPEN_AT_ONCE || orders.length < 2 * kills))
        orders.push(await world.payout());
      if (deposits.length < Math.min(DEPOSITS, ((kills + 3) * DEPOSITS) / KILLS)) await payOneMore(deposits);
      // The wallet's own money arrives as coins, which get gathered.
      if (coins < (kills + 4) / 4) {
        coins += 1;
        const gift = { symbol: 'USDC', amountBaseUnits: 2n * ONE_USDC, form: 'coin' } as const;
        await world.devnet.control.fund(world.wallet, gift);
      }
      for (const [place, replica] of replicas.entries()) {
        if (replica.process.child.exitCode !== null)
          throw new Error(`it ended by itself: ${replica.process.output()}`);
        if (kills >= KILLS) continue;
        const isReady = await replica.process.isReady().catch(() => false);
        if (isReady) replica.killAt ??= Date.now() + random() * LIFE_MAX_MS;
        if (replica.killAt === undefined || Date.now() < replica.killAt) continue;
        replica.process.child.kill('SIGKILL');
        const end = await replica.process.ended;
        if (end !== 'SIGKILL') throw new Error(`it ended by itself: ${replica.process.output()}`);
        kills += 1;
        replicas[place] = await born();
      }
      if (kills < KILLS && random() < 0.1)
        for (const node of nodes) node.fault({ kind: 'lose-execute-answer', times: 2 });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    for (const { process } of replicas) {
      process.child.kill('SIGKILL');
      await process.ended;
    }
  }
  const found = await checkSuiChain(world, orders);
  const summary = { kills, ...found, deposits: deposits.length, underFire, end: await readProgress() };
  process.stderr.write(`${JSON.stringify(summary)}\n`);
  expect(found).toEqual({ payouts: orders.length, wrong: [] });
  expect(orders.length).toBeGreaterThan(KILLS);
  for (const symbol of SYMBOLS) {
    const received = await sql<{ sum: bigint }>`
      select coalesce(sum(received), 0) as sum from deposit_balance where symbol = ${symbol}`.execute(
      world.admin,
    );
    const sum = BigInt(received.rows[0]!.sum);
    expect(await world.heldBy(COLD, world.devnet.tokens[symbol])).toBe(sum);
    expect(await world.balance('COLD', symbol)).toBe(sum);
  }
  for (const order of deposits) {
    expect(await world.received(order)).toBe(0n);
    expect(await world.heldBy(order.address)).toBe(0n);
    expect(await world.movesOf(order)).toEqual([{ kind: 'SWEEP', money: 'PAID_OUT' }]);
  }
  // Otherwise the kills would not have met this work.
  expect(underFire?.swept).toBeGreaterThan(KILLS / 4);
}, 1_800_000);
