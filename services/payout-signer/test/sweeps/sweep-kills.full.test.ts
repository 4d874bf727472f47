import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import { reorg } from '@opentill/devnets/evm/start-evm-devnet';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import type { OrderRow } from '@opentill/testkit/scenario';
import { seededRandom } from '@opentill/testkit/seeded-random';
import { CHAIN, PASSPHRASE } from '../nonce/signer-world.ts';
import { requireProgress } from '../world/require-progress.ts';
import { findSweepProblems } from './check-sweeps.ts';
import { startCrashingSigners, type CrashingSigners } from './crashing-signers.ts';
import { createSweepWorld, type SweepWorld } from './sweep-world.ts';

// Two signer processes plan and sweep and kill themselves (SIGKILL) before and after every step. Sends get lost, pools
// forget, customers pay during sweeps, and blocks vanish with final fees.

const SEED = Number(process.env['SEED'] ?? 20_261_122);
const ADDRESSES = Number(process.env['ADDRESSES'] ?? 40);
/** At least; up to twice as many while steps are left that no process died at. */
const KILLS = Number(process.env['KILLS'] ?? 30);
/** Added while steps without a crash remain. */
const ADDRESSES_MAX = 120;
const OPEN_AT_ONCE = 6;
const LIMIT_MS = 1_800_000;
const LIFE_MAX = 500;
const USDT = 1_000_000n;
/** The chain's confirmations are 2: deeper blocks had counted as final. */
const DEPTH_MAX = 4;
const TARGETED_DEPTH_MAX = 10;

const random = seededRandom(SEED);
const counts = { kills: 0, reorganisations: 0, forgotten: 0, paidMeanwhile: 0 };
const taken = { topUps: 0, finalTopUps: 0, sweeps: 0 };

let world: SweepWorld;
let signers: CrashingSigners;
const orders: OrderRow[] = [];
beforeAll(async () => {
  world = await createSweepWorld();
});
afterAll(async () => {
  await signers.stop();
  await world.close();
});

const height = async () => Number(await callRpc<string>(world.signer.rpcUrl, 'eth_blockNumber', []));
/** Customers' payments are below this block and stay. */
let ground = 0;

async function payMore(): Promise<void> {
  const count = orders.length === 0 ? ADDRESSES : 4;
  const amounts = Array.from(
    { length: count },
    (_, place) => BigInt(orders.length + place + 1) * USDT + BigInt(place),
  );
  orders.push(...(await world.paidMany(amounts)));
  ground = await height();
}

const missingSteps = () => [...signers.known].filter((step) => !signers.deaths.has(step));

/** Must have a crash: they write, or call the chain. */
const ESSENTIAL = [
  'after commit',
  'before commit',
  'before insert sweep',
  'before with sweep',
  'before update sweep',
  'before insert sweep_plan',
  'before update payout',
  'before insert wallet_nonce',
  'before with wallet_nonce',
  'before insert own_transaction',
  'before update own_transaction',
  'before insert signer.outbox',
  'before prepare',
  'after prepare',
  'before sign',
  'after sign',
  'before broadcast',
  'after broadcast',
  'after latestCount',
  'after countAt',
] as const;
const missingEssential = () => ESSENTIAL.filter((step) => !signers.deaths.has(step));

function chooseCrash() {
  const missed = missingEssential().length > 0 ? missingEssential() : missingSteps();
  const wanted = missed[Math.floor(random() * missed.length)];
  const crashAt = wanted !== undefined && random() < 0.9 ? wanted : 20 + Math.floor(random() * LIFE_MAX);
  return { crashAt, seed: Math.floor(random() * 2 ** 31), lostShare: 0.1 };
}

async function countOpen(): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from deposit_balance b where received > swept or exists (
      select from sweep s where s.address = b.address and s.state = 'OPEN')`.execute(world.admin);
  return rows[0]?.n ?? 0;
}

async function describeOpen(): Promise<string> {
  const { rows: open } = await sql`
    select s.address, s.state, s.method, s.amount, m.kind, p.state as payout, p.money, p.obstacle, n.nonce, n.state as nonce_state,
      f.state as fate, t.send_outcome
    from sweep s left join movement m using (sweep_id) left join payout p using (order_pk) left join wallet_nonce n using (order_pk)
      left join own_transaction t on t.order_pk = p.order_pk left join own_transaction_fate f on f.tx_hash = t.tx_hash
    where s.state = 'OPEN' order by s.planned_at, m.created_at limit 30`.execute(world.admin);
  const { rows: unswept } = await sql`
    select address, received, swept, reserved from deposit_balance where received > swept limit 10`.execute(
    world.admin,
  );
  const { rows: halts } = await sql`
    select wallet, kind, reason from wallet_halt where released_at is null`.execute(world.admin);
  const { rows: plan } = await sql`select plan from sweep_plan`.execute(world.admin);
  const show = (value: unknown) =>
    JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? `${one}` : one));
  return [...open, ...unswept, ...halts, ...plan].map(show).join('\n');
}

async function payMeanwhile(): Promise<void> {
  const { rows } = await sql<{ address: string }>`
    select s.address from sweep s join movement m using (sweep_id) join payout p using (order_pk)
    where s.state = 'OPEN' and m.kind = 'SWEEP' and p.money in ('RESERVED', 'IN_FLIGHT') order by s.planned_at limit 8`.execute(
    world.admin,
  );
  const chosen = rows[Math.floor(random() * rows.length)];
  const order = orders.find(({ address }) => address === chosen?.address);
  if (order === undefined) return;
  await world.pay(order, USDT + BigInt(counts.paidMeanwhile));
  await world.signer.mine();
  ground = await height();
  counts.paidMeanwhile += 1;
}

async function depthOfFinalTopUp(head: number): Promise<number> {
  const { rows } = await sql<{ height: number | null }>`
    select max(f.block_height) as height from own_transaction_fate f join own_transaction t using (chain, tx_hash)
      join movement m using (order_pk)
    where f.chain = ${CHAIN} and f.state = 'VERIFIED' and m.kind = 'GAS_TOP_UP'`.execute(world.admin);
  const depth = head - (rows[0]?.height ?? 0) + 1;
  return depth <= TARGETED_DEPTH_MAX ? depth : 0;
}

async function reorganise(): Promise<void> {
  const head = await height();
  const targeted = random() < 0.5 ? await depthOfFinalTopUp(head) : 0;
  const depth = Math.min(targeted === 0 ? 1 + Math.floor(random() * DEPTH_MAX) : targeted, head - ground);
  if (depth <= 0) return;
  const { rows } = await sql<{ kind: string; state: string }>`
    select m.kind, f.state from own_transaction_fate f join own_transaction t using (chain, tx_hash) join movement m using (order_pk)
    where f.chain = ${CHAIN} and f.state <> 'ORPHANED' and f.block_height > ${head - depth}`.execute(
    world.admin,
  );
  await reorg({ rpcUrl: world.signer.rpcUrl, depth });
  counts.reorganisations += 1;
  taken.sweeps += rows.filter(({ kind }) => kind === 'SWEEP').length;
  const topUps = rows.filter(({ kind }) => kind === 'GAS_TOP_UP');
  taken.topUps += topUps.length;
  taken.finalTopUps += topUps.filter(({ state }) => state === 'VERIFIED').length;
}

async function disturb(): Promise<void> {
  const chance = random();
  if (chance < 0.07) await reorganise();
  else if (chance < 0.1) {
    await callRpc(world.signer.rpcUrl, 'anvil_dropAllTransactions', []);
    counts.forgotten += 1;
  } else if (chance < 0.14) await payMeanwhile();
}

test(
  `sweeps each address once with one fee despite kills at any step (seed ${SEED})`,
  async () => {
    const { database, network, keystoreFile, stateDirectory } = world.signer;
    signers = startCrashingSigners(2, {
      databaseUrl: database.url('signer'),
      amqpUrl: await world.signer.amqpUrl(),
      network,
      keystoreFile,
      passphrase: PASSPHRASE,
      stateDirectory,
    });
    await payMore();
    const progress = requireProgress();
    const hasMore = (open: number) => open > 0 || orders.length < ADDRESSES_MAX;
    const isOver = (open: number) =>
      counts.kills >= KILLS &&
      missingEssential().length === 0 &&
      Object.values({ ...counts, ...taken }).every((times) => times > 0) &&
      (missingSteps().length === 0 || counts.kills >= 2 * KILLS || !hasMore(open));
    for (let open = await countOpen(); !isOver(open); open = await countOpen()) {
      progress({ kills: counts.kills, addresses: orders.length, open, missed: missingEssential() });
      counts.kills += await signers.restartCrashed(chooseCrash);
      await disturb();
      await world.signer.mine();
      await world.signer.scannerAtHead();
      if (open < OPEN_AT_ONCE && orders.length < ADDRESSES_MAX) await payMore();
      await new Promise((resolve) => setTimeout(resolve, 60)); // so that more than one thing happens between blocks
    }
    const missed = missingSteps();
    process.stderr.write(
      `${JSON.stringify({ ...counts, taken, addresses: orders.length, steps: signers.known.size, missed })}\n`,
    );
    process.stderr.write(`${JSON.stringify(Object.fromEntries(signers.deaths))}\n`);
    const calm = { crashAt: null, seed: 1, lostShare: 0 };
    await world
      .mineUntil(
        'all is swept',
        async () => {
          await signers.restartCrashed(() => calm);
          const open = await countOpen();
          progress({ open });
          return open === 0;
        },
        LIMIT_MS,
      )
      .catch(async (error: unknown) => {
        throw new Error(await describeOpen(), { cause: error });
      });
    expect(await findSweepProblems(world, orders)).toEqual([]);
    expect(missingEssential()).toEqual([]);
    expect(counts.kills).toBeGreaterThanOrEqual(KILLS);
    expect(counts.paidMeanwhile).toBeGreaterThan(0);
    expect(counts.forgotten).toBeGreaterThan(0);
    for (const times of Object.values(taken)) expect(times).toBeGreaterThan(0);
  },
  LIMIT_MS,
);
