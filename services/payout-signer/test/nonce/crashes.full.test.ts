import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { SendOutcome } from '@opentill/chain/wallet-sender';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import type { OrderRow } from '@opentill/testkit/scenario';
import { seededRandom } from '@opentill/testkit/seeded-random';
import { waitUntil } from '@opentill/testkit/wait-until';
import { checkChain } from './check-chain.ts';
import { requireProgress } from '../world/require-progress.ts';
import { countOpen, killAtRandom } from './kill-at-random.ts';
import {
  startCrashingSigner,
  isFeeStep,
  STEPS,
  type BroadcastOutcome,
  type CrashingSigner,
} from './crashing-signer.ts';
import { createChainDisturbances, type ChainDisturbances } from './chain-disturbances.ts';
import { prepareEnvironment } from './signer-process.ts';
import { createSignerWorld, ONE_ETH, type SignerWorld } from './signer-world.ts';

const SEED = Number(process.env['SEED'] ?? 20_261_121);
const CRASHES = Number(process.env['CRASHES'] ?? 300);
/** SIGKILLs of the leader (each costs the lease's 5 s) and of the standby. */
const KILLS = { leaders: Number(process.env['KILLS'] ?? 12), standbys: 12 };
const PAYOUTS_MAX = 500;
const OPEN_AT_ONCE = 6;
const OLD_MS = 1_500;

let world: SignerWorld;
let rough: ChainDisturbances;
beforeAll(async () => {
  world = await createSignerWorld();
  rough = createChainDisturbances(world);
});
afterAll(async () => {
  await world.close();
});

const random = seededRandom(SEED);
const counts = { crashes: 0, byStatement: 0, failedSteps: 0, lostRequests: 0, lostReplies: 0 };
const outcomes: Partial<Record<SendOutcome, number>> = {};
const deaths = new Map(STEPS.map((step) => [step, 0]));
const planned = new Map(STEPS.map((step) => [step, 0]));
const statements = new Set<string>();
const orders: OrderRow[] = [];

interface Replica {
  readonly name: string;
  life: CrashingSigner;
  end: string | number;
  leadsSince: number | undefined;
}

function chooseOutcome(): BroadcastOutcome {
  const chance = random();
  return chance < 0.2 ? 'REPLY_LOST' : chance < 0.3 ? 'REQUEST_LOST' : 'ARRIVES';
}

function noteSent(fate: BroadcastOutcome, sent: readonly SendOutcome[]): void {
  if (fate === 'REQUEST_LOST') counts.lostRequests += 1;
  // A reply can be lost only if the chain accepted the transaction.
  if (fate === 'REPLY_LOST' && sent.includes('ACCEPTED')) counts.lostReplies += 1;
  for (const outcome of sent) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
}

function chooseCrash(): string | number {
  if (random() < 0.25) return 1 + Math.floor(random() * 120);
  const unmet = STEPS.filter((step) => deaths.get(step) === 0);
  const among = unmet.length > 0 && counts.crashes > CRASHES / 2 ? unmet : STEPS;
  const least = Math.min(...among.map((step) => planned.get(step) ?? 0));
  const rare = among.filter((step) => planned.get(step) === least);
  const chosen = rare[Math.floor(random() * rare.length)] ?? 'before look';
  planned.set(chosen, least + 1);
  return chosen;
}

function planCrash(replica: Replica): void {
  replica.end = chooseCrash();
  replica.leadsSince = undefined;
  replica.life.planCrash({ at: replica.end, fault: random() < 0.85 ? 'crash' : 'lose' });
}

const startLife = (name: string) => startCrashingSigner(world, name, chooseOutcome, noteSent);

async function tend(replica: Replica): Promise<void> {
  const { life } = replica;
  const diedAt = life.diedAt();
  if (diedAt !== undefined) {
    counts.crashes += 1;
    const known = deaths.get(diedAt);
    if (known === undefined) counts.byStatement += 1;
    if (known === undefined) statements.add(diedAt);
    else deaths.set(diedAt, known + 1);
    await life.runner.stop();
    replica.life = await startLife(replica.name);
    planCrash(replica);
  } else if (life.survived()) {
    counts.failedSteps += 1;
    planCrash(replica);
  } else if (!life.runner.driver.leads()) replica.leadsSince = undefined;
  else {
    replica.leadsSince ??= Date.now();
    if (Date.now() - replica.leadsSince > OLD_MS || random() < 0.002)
      life.planCrash({ at: 1, fault: 'crash' });
  }
}

/** Expensive blocks come sooner for a life that crashes at a fee increase. */
async function advanceChain(replicas: readonly Replica[]): Promise<void> {
  const isWanted = replicas.some(
    ({ life, end }) => typeof end === 'string' && isFeeStep(end) && life.runner.driver.leads(),
  );
  const chance = random();
  if (chance < 0.01) await rough.forget();
  else if (chance < (isWanted ? 0.07 : 0.015)) await rough.spike();
  else if (chance < 0.1) await rough.reorganise(1 + Math.floor(random() * 5));
  if (random() < 0.5) await world.mine();
}

/** Crashes two replicas until every case has happened. Then runs them until every payout is final. */
async function runCrashes(): Promise<void> {
  const replicas = await Promise.all(
    ['a', 'b'].map(async (name): Promise<Replica> => {
      return { name, life: await startLife(name), end: 0, leadsSince: undefined };
    }),
  );
  for (const replica of replicas) planCrash(replica);
  const progress = requireProgress();
  const facts = () => ({ ...counts, orders: orders.length, missing: missingCases() });
  let hasFailed = false;
  const isOver = () => hasFailed || (counts.crashes >= CRASHES && missingCases().length === 0);
  const repeat = async (pauseMs: number, work: () => Promise<unknown>) => {
    try {
      for (; !isOver(); await new Promise((resolve) => setTimeout(resolve, pauseMs))) {
        progress(facts());
        await work();
      }
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  };
  await Promise.all([
    ...replicas.map((replica) => repeat(10, () => tend(replica))),
    repeat(30, () => advanceChain(replicas)),
    repeat(20, async () => {
      if ((await countOpen(world)) < OPEN_AT_ONCE && orders.length < PAYOUTS_MAX)
        orders.push(random() < 0.8 ? await world.payout() : await world.nativePayout(ONE_ETH / 1_000n));
    }),
  ]);
  for (const replica of replicas) {
    replica.life.planCrash(undefined);
    if (replica.life.diedAt() === undefined) continue;
    await replica.life.runner.stop();
    replica.life = await startLife(replica.name);
  }
  await waitUntil(
    `every payout is final: ${JSON.stringify(facts())}`,
    async () => {
      await world.mine();
      return (await countOpen(world)) === 0;
    },
    300_000,
  );
  for (const { life } of replicas) await life.runner.stop();
}

function missingCases(): readonly string[] {
  const happened = {
    ...counts,
    ...rough.times,
    known: outcomes.KNOWN ?? 0,
    tooLow: outcomes.NONCE_TOO_LOW ?? 0,
  };
  return [...Object.entries(happened), ...deaths].filter(([, times]) => times === 0).map(([name]) => name);
}

async function sendEverythingAgain(): Promise<void> {
  const { rows } = await sql<{ raw: Buffer }>`select raw from own_transaction order by signed_at`.execute(
    world.admin,
  );
  for (const { raw } of rows)
    await callRpc(world.rpcUrl, 'eth_sendRawTransaction', [`0x${raw.toString('hex')}`]).catch(
      () => undefined,
    );
  await world.mine(3);
}

test(`pays exactly once with two replicas that crash and are killed (seed ${SEED})`, async () => {
  const startedAt = Date.now();
  await runCrashes();
  const crashesMs = Date.now() - startedAt;
  const env = await prepareEnvironment(world);
  const { orders: later, ...kills } = await killAtRandom(world, env, random, rough, KILLS);
  orders.push(...later);
  await sendEverythingAgain();

  const found = await checkChain(world, orders);
  const { rows } = await sql<{ nonces: number; bumped: number; dearerLanded: number }>`
    select count(distinct t.nonce)::int as nonces, (count(*) - count(distinct t.nonce))::int as bumped,
      (count(*) filter (where f.state = 'VERIFIED' and exists (select from own_transaction e
        where e.nonce = t.nonce and e.signed_at < t.signed_at)))::int as "dearerLanded"
    from own_transaction t left join own_transaction_fate f using (chain, tx_hash)`.execute(world.admin);
  const bumps = rows[0];
  process.stderr.write(
    `${JSON.stringify({
      ...counts,
      ...rough.times,
      ...bumps,
      kills,
      outcomes,
      statements: statements.size,
      ...found,
      crashSeconds: Math.round(crashesMs / 1_000),
      seconds: Math.round((Date.now() - startedAt) / 1_000),
    })}\n${JSON.stringify(Object.fromEntries(deaths))}\n`,
  );
  expect(found).toEqual({ payouts: orders.length, wrong: [] });
  const used = await callRpc<string>(world.rpcUrl, 'eth_getTransactionCount', [world.wallet, 'latest']);
  expect((await world.nonces()).map(({ nonce, state }) => `${nonce} ${state}`)).toEqual(
    Array.from({ length: Number(used) }, (_, nonce) => `${nonce} FINAL`),
  );
  expect(Number(used)).toBe(orders.length);
  expect(counts.crashes).toBeGreaterThanOrEqual(CRASHES);
  expect(kills).toEqual(KILLS);
  expect(missingCases()).toEqual([]);
  expect(bumps?.bumped).toBeGreaterThan(0);
  expect(bumps?.dearerLanded).toBeGreaterThan(0);
  expect(statements.size).toBeGreaterThan(8);
}, 1_800_000);
