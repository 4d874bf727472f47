import { openDatabase } from '@opentill/db/database';
import { readOrders } from '@opentill/ops/store/ledger';
import { findOrders } from '@opentill/ops/store/orders';
import { evm } from '../families/evm.ts';
import { fillOrders, RARE_MERCHANT, type FilledOrders } from '../fill-orders.ts';
import { createOrdersWithCallbacks, liftLimits, withBenchGateway, type BenchGateway } from '../gateway.ts';
import type { Benchmark } from '../report.ts';
import { median, quantile, round } from '../statistics.ts';
import { until } from '../wait.ts';
import { runLoad } from './payments.ts';

/** Old orders per open one. */
const OLD_SHARE = 2;
const RATE = 10;
const PAGE_ROWS = 51;
const WAVE_LIMIT_MS = 3_600_000;
const OPEN = `from orders where order_type = 'COLLECTION' and status in ('INIT', 'PENDING') and chain = 'ETH_SEPOLIA'`;

/** By its name. */
type Figures = Map<string, number>;

export const orders: Benchmark = async ({ say, quick, openOrders }) => {
  const open = openOrders ?? (quick ? 2_000 : 1_000_000);
  const wave = Math.min(100_000, Math.floor(open / 4));
  const filled = { open, old: open * OLD_SHARE };
  const measureOne = (name: string, first: FilledOrders | undefined) => {
    say(name);
    return withBenchGateway((bench) => measure(bench, { first, wave, quick, say }));
  };
  const full = await measureOne(`${filled.open} open and ${filled.old} old orders`, filled);
  const empty = await measureOne('an empty database', undefined);
  return [
    {
      title: `The gateway with ${filled.open} open and ${filled.old} old orders`,
      columns: ['', 'empty database', 'filled'],
      rows: [...full].map(([what, figure]) => [what, empty.get(what) ?? '', figure]),
    },
  ];
};

interface Measuring {
  /** Undefined: the wave only, after all figures before it. */
  readonly first: FilledOrders | undefined;
  readonly wave: number;
  readonly quick: boolean;
  readonly say: (line: string) => void;
}

async function measure(bench: BenchGateway, { first, wave, quick, say }: Measuring): Promise<Figures> {
  const { database, gateway } = bench;
  const figures: Figures = new Map();
  await liftLimits(bench);
  const devnet = await evm.takeOver(gateway);
  await runLoad(bench, evm, devnet, quick ? RATE : 100, quick ? 2 : 5); // warm
  if (first !== undefined) {
    const before = await databaseBytes(bench);
    const seconds = await secondsOf(() => fillOrders(database, first));
    const bytes = (await databaseBytes(bench)) - before;
    say(`filled in ${seconds} s with ${Math.round(bytes / 1e6)} MB`);
    figures.set('bytes per order', round(bytes / (first.open + first.old), 0));
  }
  const created = quick ? 64 : 2_000;
  const seconds = await secondsOf(() => createOrdersWithCallbacks(bench, created, evm.chain));
  figures.set('createCollection, orders/s', round(created / seconds, 0));
  const { pending, success } = await runLoad(bench, evm, devnet, RATE, quick ? 3 : 12);
  figures.set('block to PENDING_CONFIRMATION, p50 ms', quantile(pending, 0.5));
  figures.set('block to SUCCESS, p50 ms', quantile(success, 0.5));
  for (const [what, ms] of await measurePages(gateway.roleUrl('ops'))) figures.set(what, ms);
  if (first === undefined) await fillOrders(database, { open: wave, old: 0 });
  say(`${wave} orders expire`);
  figures.set(`${wave} orders expire, s`, await secondsOf(() => expire(bench, wave)));
  figures.set('vacuum of orders, s', await secondsOf(() => database.query('vacuum (analyze) orders')));
  return figures;
}

async function databaseBytes({ database }: BenchGateway): Promise<number> {
  const { rows } = await database.query<{ n: string }>('select pg_database_size(current_database()) as n');
  return Number(rows[0]?.n);
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return round((performance.now() - began) / 1_000);
}

async function measurePages(url: string): Promise<readonly (readonly [string, number])[]> {
  const filters = {
    'newest page, ms': {},
    'page of open orders, ms': { status: 'INIT' },
    'page of failed orders, ms': { status: 'FAILED' },
    'page of a status without orders, ms': { status: 'PENDING' },
    'page of a merchant with 20 orders, ms': { merchantId: RARE_MERCHANT },
    'page of an order id, ms': { orderId: 'shop-7' },
    'page of a chain without orders, ms': { chain: 'TRON_TEST' },
  } as const satisfies Record<string, Parameters<typeof findOrders>[1]>;
  const ops = openDatabase({ url, applicationName: 'bench ops' });
  try {
    const pages: [string, number][] = [];
    for (const [what, filter] of Object.entries(filters)) {
      const durations = [];
      for (let i = 0; i < 5; i += 1) {
        const began = performance.now();
        await findOrders(ops.kysely, filter, undefined, PAGE_ROWS);
        durations.push(performance.now() - began);
      }
      pages.push([what, round(median(durations), 1)]);
    }
    const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);
    const began = performance.now();
    const day = { from: daysAgo(50), until: daysAgo(49) };
    for await (const rows of readOrders(ops.kysely, day, AbortSignal.timeout(600_000))) void rows;
    pages.push(['export of a day, ms', round(performance.now() - began, 0)]);
    return pages;
  } finally {
    await ops.close();
  }
}

/** Without callbacks. The tracker polls for due orders; instead of the scanner, this moves the chain's verified time. */
async function expire({ database, gateway }: BenchGateway, count: number): Promise<void> {
  await gateway.stopService('scanner-evm');
  await database.query('update merchant set callback_url = null');
  const { rows } = await database.query<{ time: string }>(
    `select cutoff_at::text as time ${OPEN} order by cutoff_at offset $1 limit 1`,
    [count - 1],
  );
  await database.query(`update chain_cursor set verified_time = $1::timestamptz + interval '1 microsecond'`, [
    rows[0]?.time,
  ]);
  const isOver = async () => {
    const { rows: left } = await database.query(`select 1 ${OPEN} and cutoff_at <= $1 limit 1`, [
      rows[0]?.time,
    ]);
    return left.length === 0;
  };
  await until('all due orders expire', isOver, 250, WAVE_LIMIT_MS);
}
