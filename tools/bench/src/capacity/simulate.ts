import { STAGES, type OrderCosts, type Replicated } from './costs.ts';

/** One installation under a constant rate of payments. */
export interface Scenario {
  readonly costs: OrderCosts;
  readonly paymentsPerSecond: number;
  readonly replicas: Readonly<Record<Replicated, number>>;
  /** Scanner processes; the payments are spread evenly. */
  readonly chains: number;
  readonly postgresCores: number;
  readonly seconds: number;
  readonly seed: number;
  /** The database does not answer from this second on, for this many seconds: a failover. */
  readonly outage?: { readonly fromSecond: number; readonly seconds: number };
}

export interface Outcome {
  /** From the visibility of a block to the ORDER_SUCCESS callback of its payments, ms. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** Payments that wait at the end. It grows without bound in an overloaded gateway. */
  readonly backlog: number;
  /** Share of the time in which its processor works. */
  readonly busy: Readonly<Record<string, number>>;
}

/** A stage takes processor time of its own service and of the shared database for each payment. */
interface Work {
  readonly name: string;
  readonly ownMs: number;
  readonly databaseMs: number;
  readonly servers: number;
  /** Payments that wait, with the time at which their block was visible; in order. */
  readonly waiting: { readonly visibleMs: number; count: number }[];
  usedMs: number;
}

const SLOT_MS = 10;
const BLOCK_MS = 1_000;
/**
 * Time passes in slots of 10 ms. A payment passes scanner, tracker and webhook-sender, first come, first served; orders
 * are created meanwhile, at the same rate. In each slot a stage works for as long as its servers and its share of the
 * database's cores permit. Blocks are visible every second, and their payments arrive together.
 */
export function simulate(scenario: Scenario): Outcome {
  const { paymentsPerSecond, seconds, postgresCores } = scenario;
  const stages = stagesOf(scenario);
  const [api, ...path] = stages;
  const random = seeded(scenario.seed);
  const latencies: { readonly ms: number; readonly count: number }[] = [];
  let databaseMs = 0;
  for (let nowMs = 0; nowMs < seconds * 1_000; nowMs += SLOT_MS) {
    api?.waiting.push({ visibleMs: nowMs, count: poisson((paymentsPerSecond * SLOT_MS) / 1_000, random) });
    if (nowMs % BLOCK_MS === 0)
      path[0]?.waiting.push({
        visibleMs: nowMs,
        count: poisson((paymentsPerSecond * BLOCK_MS) / 1_000, random),
      });
    let leftMs = isOut(scenario, nowMs) ? 0 : postgresCores * SLOT_MS;
    // The stages take turns at the head of the queue for the database, so that none starves.
    const first = Math.floor(nowMs / SLOT_MS) % stages.length;
    for (let turn = 0; turn < stages.length; turn += 1) {
      const place = (first + turn) % stages.length;
      const stage = stages[place];
      if (stage === undefined) continue;
      const share = turn === stages.length - 1 ? leftMs : Math.min(leftMs, (postgresCores * SLOT_MS) / 2);
      const done = work(stage, share);
      const worked = done.reduce((sum, { count }) => sum + count, 0);
      leftMs -= worked * stage.databaseMs;
      databaseMs += worked * stage.databaseMs;
      const next = place === 0 ? undefined : stages[place + 1];
      if (next !== undefined) next.waiting.push(...done);
      else if (place > 0)
        for (const { visibleMs, count } of done) latencies.push({ ms: nowMs + SLOT_MS - visibleMs, count });
    }
  }
  return {
    ...percentiles(latencies),
    backlog: stages.reduce((sum, { waiting }) => sum + waiting.reduce((all, { count }) => all + count, 0), 0),
    busy: {
      ...Object.fromEntries(
        stages.map(({ name, usedMs, servers }) => [name, usedMs / (servers * seconds * 1_000)]),
      ),
      postgres: databaseMs / (postgresCores * seconds * 1_000),
    },
  };
}

function stagesOf({ costs, replicas, chains }: Scenario): readonly Work[] {
  const servers = { ...replicas, 'scanner-evm': chains };
  // Vacuum, WAL and checkpoints follow the writes of the stages.
  const inBackends = STAGES.reduce((sum, name) => sum + costs.databaseMs[name], 0);
  return STAGES.map((name) => ({
    name,
    ownMs: costs.processorMs[name],
    databaseMs: (costs.processorMs.postgres * costs.databaseMs[name]) / inBackends,
    servers: servers[name],
    waiting: [],
    usedMs: 0,
  }));
}

/** Takes what fits into the slot from the head of the queue. */
function work(stage: Work, databaseMs: number): { readonly visibleMs: number; count: number }[] {
  let fits = Math.min((stage.servers * SLOT_MS) / stage.ownMs, databaseMs / stage.databaseMs);
  const done = [];
  while (fits > 0 && stage.waiting[0] !== undefined) {
    const head = stage.waiting[0];
    const count = Math.min(fits, head.count);
    if (count > 0) done.push({ visibleMs: head.visibleMs, count });
    fits -= count;
    stage.usedMs += count * stage.ownMs;
    head.count -= count;
    if (head.count <= 0) stage.waiting.shift();
  }
  return done;
}

function isOut({ outage }: Scenario, nowMs: number): boolean {
  if (outage === undefined) return false;
  const second = nowMs / 1_000;
  return second >= outage.fromSecond && second < outage.fromSecond + outage.seconds;
}

function percentiles(latencies: readonly { readonly ms: number; readonly count: number }[]) {
  const sorted = latencies.toSorted((a, b) => a.ms - b.ms);
  const all = sorted.reduce((sum, { count }) => sum + count, 0);
  const at = (share: number): number => {
    let seen = 0;
    for (const { ms, count } of sorted) {
      seen += count;
      if (seen >= share * all) return ms;
    }
    return sorted.at(-1)?.ms ?? Number.NaN;
  };
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

/** Exact for small means, the normal approximation for others. */
function poisson(mean: number, random: () => number): number {
  if (mean > 50) {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal));
  }
  const limit = Math.exp(-mean);
  let count = 0;
  for (let product = random(); product > limit; product *= random()) count += 1;
  return count;
}

/** Mulberry32. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The scenario with one server less at one service. */
export function withOneLess(scenario: Scenario, service: Replicated): Scenario {
  return { ...scenario, replicas: { ...scenario.replicas, [service]: scenario.replicas[service] - 1 } };
}
