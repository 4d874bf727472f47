import { createOrders, type BenchOrder } from './create-orders.ts';
import { latenciesMs, quantile } from './measure-latency.ts';
import { coresUsed, readProcessorSeconds, type ProcessorSeconds } from './processor-time.ts';
import type { DevnetChain } from '@opentill/local/gateway-options';
import type { BenchGateway } from './start-bench-gateway.ts';
import type { Sprayer } from './spray-payments.ts';

/** Milliseconds from a block's visibility at the node to the callback's arrival. */
export interface LatencyFigures {
  readonly count: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** How many took at most so many milliseconds, and longer than the bound before. */
  readonly histogram: Readonly<Record<string, number>>;
}

/** What a load of so many payments a second came to, a block every second. */
export interface SteadyLoadFigures {
  readonly paymentsPerSecond: number;
  readonly payments: number;
  /** ORDER_PENDING_CONFIRMATION, counted from the payment's block. */
  readonly first: LatencyFigures;
  /** ORDER_SUCCESS, counted from the block that makes it deep enough. */
  readonly success: LatencyFigures;
  /** Median of the last quarter of the payments: when it stays below the time between blocks, nothing piles up. */
  readonly lastQuarterP50Ms: number;
  /** Payments through the whole pipeline per second, from the first block to the last callback. */
  readonly throughput: number;
  /** Cores used from the first block to the last callback. */
  readonly cores: ProcessorSeconds;
}

const BLOCK_MS = 1_000;
const DRAIN_LIMIT_MS = 90_000;
const BOUNDS_MS = [10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120];

/** Orders are created before; then a block with `rate` payments is mined every second, and empty ones to the end. */
export async function runSteadyLoad(
  bench: BenchGateway,
  sprayer: Sprayer,
  rate: number,
  seconds: number,
): Promise<SteadyLoadFigures> {
  const orders = await createQuietly(bench, rate * seconds, sprayer.chain);
  const { recorder, gateway } = bench;
  recorder.arrivals.length = 0;
  const before = readProcessorSeconds(gateway);
  const startedAt = performance.now();
  const heights: number[] = [];
  let nextAt = startedAt;
  for (let block = 0; ; block += 1) {
    await sprayer.queue(orders.slice(block * rate, (block + 1) * rate).map(({ address }) => address));
    await sleepUntil(nextAt);
    nextAt = Math.max(nextAt + BLOCK_MS, performance.now()); // blocks that are late are not made up for
    heights.push(await sprayer.mine());
    if (block > seconds + sprayer.blocksToSuccess && countSuccesses(bench) >= orders.length) break;
    if (performance.now() - startedAt > seconds * BLOCK_MS + DRAIN_LIMIT_MS)
      throw new Error(`${countSuccesses(bench)} of ${orders.length} payments were confirmed in time`);
  }
  const lastAt = Math.max(...recorder.arrivals.map(({ atMs }) => atMs));
  const elapsedSeconds = (lastAt - startedAt) / 1_000;
  const figures = (type: string, blocksLater: number, some: readonly BenchOrder[] = orders) =>
    latenciesMs(
      recorder.arrivals,
      sprayer.visibleAtMs,
      type,
      some.map(({ orderId }) => orderId),
      blocksLater,
    );
  const success = figures('ORDER_SUCCESS', sprayer.blocksToSuccess);
  const lastQuarter = figures(
    'ORDER_SUCCESS',
    sprayer.blocksToSuccess,
    orders.slice(-Math.ceil(orders.length / 4)),
  );
  return {
    paymentsPerSecond: rate,
    payments: orders.length,
    first: describe(figures('ORDER_PENDING_CONFIRMATION', 0)),
    success: describe(success),
    lastQuarterP50Ms: quantile(lastQuarter, 0.5),
    throughput: Math.round(orders.length / elapsedSeconds),
    cores: coresUsed(before, readProcessorSeconds(gateway), (performance.now() - startedAt) / 1_000),
  };
}

/**
 * Creates orders whose first callback goes nowhere: it belongs to the creation and not to the payment, and would only
 * have to be waited for.
 */
export async function createQuietly(
  bench: BenchGateway,
  count: number,
  chain: DevnetChain,
): Promise<BenchOrder[]> {
  await bench.database.query('update merchant set callback_url = null');
  const orders = await createOrders(bench, count, bench.token, chain);
  await untilNothingWaits(bench);
  await bench.database.query('update merchant set callback_url = $1', [bench.recorder.url]);
  return orders;
}

/** Resolves when every notification has been dealt with. */
export async function untilNothingWaits({ database }: Pick<BenchGateway, 'database'>): Promise<void> {
  for (;;) {
    const { rows } = await database.query<{ waits: boolean }>(
      `select exists (select from notification n where not exists (
         select from delivery d where d.event_id = n.event_id and d.state <> 'PENDING')) as waits`,
    );
    if (rows[0]?.waits === false) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Quantiles and a coarse histogram of sorted milliseconds. */
export function describe(sorted: readonly number[]): LatencyFigures {
  const bounds = [0, ...BOUNDS_MS, Number.POSITIVE_INFINITY];
  const buckets = bounds.slice(1).map((bound, index) => {
    const count = sorted.filter((ms) => ms > (bounds[index] ?? 0) && ms <= bound).length;
    return [bound === Number.POSITIVE_INFINITY ? 'more' : `${bound}`, count] as const;
  });
  return {
    count: sorted.length,
    p50Ms: quantile(sorted, 0.5),
    p90Ms: quantile(sorted, 0.9),
    p99Ms: quantile(sorted, 0.99),
    maxMs: quantile(sorted, 1),
    histogram: Object.fromEntries(buckets.filter(([, count]) => count > 0)),
  };
}

function countSuccesses({ recorder }: BenchGateway): number {
  return recorder.arrivals.filter(({ notifyType }) => notifyType === 'ORDER_SUCCESS').length;
}

async function sleepUntil(atMs: number): Promise<void> {
  const waitMs = atMs - performance.now();
  if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
}
