import { writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { findPortOwner } from '@opentill/test-servers/port-owner';
import { COMPONENTS, STAGES, type Component, type OrderCosts, type Stage } from '../capacity/costs.ts';
import { COSTS_FILE, writeCapacityTables } from '../capacity/write-tables.ts';
import { evm } from '../families/evm.ts';
import { createOrdersWithCallbacks, liftLimits, withBenchGateway, type BenchGateway } from '../gateway.ts';
import { familyMs, processorMs, untilIdle } from '../processes.ts';
import type { Benchmark, Table } from '../report.ts';
import { round } from '../statistics.ts';
import { sleep, until } from '../wait.ts';
import { payOrders, runLoad } from './payments.ts';

const RATE = 50;
/** The database's statistics of a session appear a second after its last transaction. */
const STATISTICS_MS = 2_000;
const CALLBACKS_PER_ORDER = 3;
const ROLES: Readonly<Record<string, Stage>> = {
  opentill_api: 'api',
  opentill_scanner_evm: 'scanner-evm',
  opentill_tracker: 'confirmation-tracker',
  opentill_webhook: 'webhook-sender',
};
/** Kept permanently (docs/architecture/database.md). */
const PERMANENT =
  /^(orders|deposit_address|deposit_balance|transfer|transfer_settlement|ledger_\w+|collection_\w+)$/;
/** The last callback of each order is kept, the others expire. */
const CALLBACKS = /^(notification|delivery)$/;
const EXPIRING = /^(delivery_attempt\w*|request_nonce|rate_counter|inbox\w*)$/;

/** Costs of an order on an EVM chain, for docs/architecture/capacity.md, whose tables it rewrites. */
export const capacity: Benchmark = ({ say, quick }) =>
  withBenchGateway(async (bench) => {
    const [seconds, idleMs] = quick ? [2, 1_000] : [60, 30_000];
    requireLocalServers(bench);
    const load = round(loadavg()[0] ?? Number.NaN, 1);
    await liftLimits(bench);
    const devnet = await evm.takeOver(bench.gateway);
    await runLoad(bench, evm, devnet, RATE, quick ? 1 : 5); // warm
    const apiPid = bench.gateway.services.get('api')?.pid ?? 0;
    await untilIdle(apiPid); // the api derives addresses after a load
    say(`idle for ${idleMs / 1_000} s`);
    const idle = differenceOf(await read(bench), (await sleep(idleMs), await read(bench)));
    say(`${RATE} payments/s for ${seconds} s`);
    const [sizes, before] = [await sizesOf(bench), await read(bench)];
    bench.arrivals.length = 0;
    const orders = await createOrdersWithCallbacks(bench, RATE * seconds, evm.chain);
    await payOrders(bench, devnet, orders, RATE);
    await until(
      'all callbacks have arrived',
      () => bench.arrivals.length >= CALLBACKS_PER_ORDER * orders.length,
    );
    const spent = differenceOf(before, await read(bench));
    const costs = costsOf({ spent, idle, orders: orders.length, load, sizes, after: await sizesOf(bench) });
    if (!quick) {
      await writeFile(COSTS_FILE, `${JSON.stringify(costs, null, 2)}\n`);
      await writeCapacityTables(costs);
    }
    return tablesOf(costs);
  });

/** Processes in containers belong to no port of this machine. */
function requireLocalServers({ gateway: { database, broker } }: BenchGateway): void {
  for (const { origin } of [database, broker])
    if (origin !== 'local')
      throw new Error(
        'capacity reads the processor time of Postgres and RabbitMQ, which must not run in containers: run it with DOCKER_HOST=unix:///none',
      );
}

/** Counts since the start of the processes. */
interface Reading {
  readonly atMs: number;
  readonly processor: Readonly<Record<Component, number>>;
  readonly backends: Readonly<Record<Stage, number>>;
  readonly transactions: number;
  readonly walBytes: number;
  readonly published: number;
  readonly delivered: number;
  readonly nodeCalls: number;
}

async function read({ gateway, database }: BenchGateway): Promise<Reading> {
  await sleep(STATISTICS_MS);
  const { rows } = await database.query<{ transactions: string; wal: string }>(
    `select (select sum(xact_commit) from pg_stat_database) as transactions,
      pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as wal`,
  );
  const metrics = await Promise.all(STAGES.map((stage) => metricsOf(gateway.environmentOf(stage))));
  const sum = (name: string) => metrics.reduce((all, text) => all + sumOf(text, name), 0);
  const pidOf = (url: string) => findPortOwner(Number(new URL(url).port))?.pid ?? 0;
  return {
    atMs: performance.now(),
    processor: {
      ...(Object.fromEntries(
        STAGES.map((stage) => [stage, processorMs(gateway.services.get(stage)?.pid ?? 0)]),
      ) as Record<Stage, number>),
      postgres: familyMs(pidOf(gateway.database.url)),
      rabbitmq: familyMs(pidOf(gateway.broker.url)),
    },
    backends: await backendsOf(database),
    transactions: Number(rows[0]?.transactions),
    walBytes: Number(rows[0]?.wal),
    published: sum('opentill_outbox_published_total'),
    delivered: sum('opentill_events_consumed_total'),
    nodeCalls: sum('opentill_scanner_rpc_calls_total'),
  };
}

async function backendsOf(database: BenchGateway['database']): Promise<Record<Stage, number>> {
  const { rows } = await database.query<{ pid: number; usename: string }>(
    `select pid, usename from pg_stat_activity where backend_type = 'client backend'`,
  );
  const ms: Record<Stage, number> = {
    api: 0,
    'scanner-evm': 0,
    'confirmation-tracker': 0,
    'webhook-sender': 0,
  };
  for (const { pid, usename } of rows) {
    const stage = ROLES[usename];
    if (stage !== undefined) ms[stage] += processorMs(pid);
  }
  return ms;
}

async function metricsOf(env: Readonly<Record<string, string | undefined>>): Promise<string> {
  return (await fetch(`http://127.0.0.1:${env['HEALTH_PORT']}/metrics`)).text();
}

function sumOf(metrics: string, name: string): number {
  const values = [...metrics.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))];
  return values.reduce((sum, [, value]) => sum + Number(value), 0);
}

function differenceOf(before: Reading, after: Reading): Reading {
  const minus = <K extends string>(a: Readonly<Record<K, number>>, b: Readonly<Record<K, number>>) =>
    Object.fromEntries(Object.keys(a).map((key) => [key, a[key as K] - b[key as K]])) as Record<K, number>;
  const { processor, backends, ...counts } = after;
  return {
    ...minus(counts, before as Omit<Reading, 'processor' | 'backends'>),
    processor: minus(processor, before.processor),
    backends: minus(backends, before.backends),
  };
}

type Sizes = ReadonlyMap<string, number>;

async function sizesOf({ database }: BenchGateway): Promise<Sizes> {
  const { rows } = await database.query<{ name: string; bytes: string }>(
    `select c.relname as name, sum(pg_total_relation_size(c.oid)) as bytes from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema') group by 1`,
  );
  return new Map(rows.map(({ name, bytes }) => [name, Number(bytes)]));
}

function costsOf(measured: {
  readonly spent: Reading;
  readonly idle: Reading;
  readonly orders: number;
  readonly load: number;
  readonly sizes: Sizes;
  readonly after: Sizes;
}): OrderCosts {
  const { spent, idle, orders, load, sizes, after } = measured;
  const idleShare = spent.atMs / idle.atMs;
  const perOrder = (count: number, idleCount: number, decimals = 2) =>
    round(Math.max(0, count - idleCount * idleShare) / orders, decimals);
  const perSecond = (count: number) => round(count / (idle.atMs / 1_000), 1);
  const grown = (names: RegExp) =>
    [...after].reduce(
      (sum, [name, bytes]) => sum + (names.test(name) ? bytes - (sizes.get(name) ?? 0) : 0),
      0,
    );
  const callbacks = grown(CALLBACKS) / CALLBACKS_PER_ORDER;
  const each = <K extends string, V>(keys: readonly K[], of: (key: K) => V) =>
    Object.fromEntries(keys.map((key) => [key, of(key)])) as Record<K, V>;
  return {
    measuredAt: new Date().toISOString().slice(0, 10),
    machine: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`,
    load,
    paymentsPerSecond: RATE,
    orders,
    processorMs: each(COMPONENTS, (name) => perOrder(spent.processor[name], idle.processor[name])),
    databaseMs: each(STAGES, (name) => perOrder(spent.backends[name], idle.backends[name])),
    idleMsPerSecond: each(COMPONENTS, (name) => perSecond(idle.processor[name])),
    database: {
      transactions: perOrder(spent.transactions, idle.transactions),
      walBytes: perOrder(spent.walBytes, idle.walBytes, 0),
      permanentBytes: round((grown(PERMANENT) + callbacks) / orders, 0),
      expiringBytes: round((grown(EXPIRING) + callbacks * (CALLBACKS_PER_ORDER - 1)) / orders, 0),
    },
    broker: {
      published: perOrder(spent.published, idle.published),
      delivered: perOrder(spent.delivered, idle.delivered),
    },
    nodeCalls: {
      perPayment: perOrder(spent.nodeCalls, idle.nodeCalls),
      idlePerSecond: perSecond(idle.nodeCalls),
    },
  };
}

function tablesOf({ processorMs: ms, idleMsPerSecond, database, broker, nodeCalls }: OrderCosts): Table[] {
  return [
    {
      title: `Processor time: ms per order at ${RATE} payments/s, and ms per second without payments`,
      columns: ['', 'per order', 'idle'],
      rows: COMPONENTS.map((name) => [name, ms[name], idleMsPerSecond[name]]),
    },
    {
      title: 'Per order',
      columns: ['', 'count'],
      rows: [...Object.entries(database), ...Object.entries(broker), ...Object.entries(nodeCalls)],
    },
  ];
}
