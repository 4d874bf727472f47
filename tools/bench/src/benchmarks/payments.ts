import type { BenchFamily, PayingDevnet } from '../families/family.ts';
import {
  createOrders,
  liftLimits,
  withBenchGateway,
  type Arrival,
  type BenchGateway,
  type BenchOrder,
} from '../gateway.ts';
import { measureSteps, stepsTable } from '../payment-steps.ts';
import type { Benchmark, Table } from '../report.ts';
import { quantile } from '../statistics.ts';
import { sleep } from '../wait.ts';

/** Latencies in ms from the visibility of a block to the arrival of callbacks. */
export interface LoadFigures {
  readonly rate: number;
  /** ORDER_PENDING_CONFIRMATION, counted from the payment's block. */
  readonly pending: readonly number[];
  /** ORDER_SUCCESS, counted from the block that completes the crediting depth. */
  readonly success: readonly number[];
  /** By callback and step (payment-steps.ts). */
  readonly steps: ReadonlyMap<string, readonly (readonly number[])[]>;
}

const BLOCK_MS = 1_000;
const DRAIN_LIMIT_MS = 90_000;

export const payments =
  (family: BenchFamily): Benchmark =>
  ({ say, quick }) =>
    withBenchGateway(
      async (bench) => {
        await liftLimits(bench);
        const devnet = await family.takeOver(bench.gateway);
        const load = (rate: number, seconds: number): Promise<LoadFigures> => {
          say(`${rate} payments/s for ${seconds} s`);
          return runLoad(bench, family, devnet, rate, seconds);
        };
        await load(quick ? 10 : 100, quick ? 2 : 5); // warm
        const steady = [];
        for (const rate of quick ? [10] : [10, 50, 200]) steady.push(await load(rate, quick ? 3 : 12));
        const full = [];
        for (let number = 0; number < (quick ? 1 : 3); number += 1)
          full.push(await load(quick ? 100 : 1_000, 1));
        return [latencyTable(steady), ...steady.map(stepsOf), fullBlockTable(full)];
      },
      ['api', ...new Set(['scanner-evm', family.scanner] as const), 'confirmation-tracker', 'webhook-sender'],
    );

function latencyTable(loads: readonly LoadFigures[]): Table {
  const cells = (some: readonly number[]) => [0.5, 0.9, 0.99, 1].map((share) => quantile(some, share));
  return {
    title: 'From block to callback, ms',
    columns: ['payments/s', 'callback', 'p50', 'p90', 'p99', 'max'],
    rows: loads.flatMap(({ rate, pending, success }) => [
      [rate, 'PENDING_CONFIRMATION', ...cells(pending)],
      [rate, 'SUCCESS', ...cells(success)],
    ]),
  };
}

function stepsOf({ rate, steps }: LoadFigures): Table {
  return stepsTable([...steps].map(([callback, durations]) => ({ rate, callback, steps: durations })));
}

function fullBlockTable(blocks: readonly LoadFigures[]): Table {
  return {
    title: 'The last callback of a block full of payments, ms',
    columns: ['payments in the block', 'PENDING_CONFIRMATION', 'SUCCESS'],
    rows: blocks.map(({ rate, pending, success }) => [rate, quantile(pending, 1), quantile(success, 1)]),
  };
}

/** Creates the orders, then a block with `rate` payments every second, then empty blocks until all are credited. */
export async function runLoad(
  bench: BenchGateway,
  { chain }: BenchFamily,
  devnet: PayingDevnet,
  rate: number,
  seconds: number,
): Promise<LoadFigures> {
  const orders = await createOrders(bench, rate * seconds, chain);
  bench.arrivals.length = 0;
  return payOrders(bench, devnet, orders, rate);
}

/** A block with `rate` payments every second, then empty blocks until all are credited. */
export async function payOrders(
  { arrivals, database }: Pick<BenchGateway, 'arrivals' | 'database'>,
  devnet: PayingDevnet,
  orders: readonly BenchOrder[],
  rate: number,
): Promise<LoadFigures> {
  const seconds = Math.ceil(orders.length / rate);
  const visibleAtMs = new Map<number, number>();
  const successes = (): number => arrivals.filter(({ notifyType }) => notifyType === 'ORDER_SUCCESS').length;
  const startedAt = performance.now();
  let nextAt = startedAt;
  for (let block = 0; ; block += 1) {
    await devnet.queue(orders.slice(block * rate, (block + 1) * rate).map(({ address }) => address));
    await sleep(Math.max(0, nextAt - performance.now()));
    nextAt = Math.max(nextAt + BLOCK_MS, performance.now()); // late blocks are not made up for
    const height = await devnet.mine();
    visibleAtMs.set(height, performance.now());
    if (block > seconds + devnet.blocksToSuccess && successes() >= orders.length) break;
    if (performance.now() - startedAt > seconds * BLOCK_MS + DRAIN_LIMIT_MS)
      throw new Error(`${successes()} of ${orders.length} payments were confirmed in time`);
  }
  const steps = new Map<string, readonly (readonly number[])[]>();
  const latencies = async (type: string, blocksLater: number): Promise<number[]> => {
    const times = timesOf(arrivals, type, (block) => visibleAtMs.get(block + blocksLater) ?? Number.NaN);
    steps.set(type, await measureSteps(database, type, times));
    return orders.map(({ orderId }) => {
      const { visibleAtMs: from = Number.NaN, receivedAtMs: to = Number.NaN } = times.get(orderId) ?? {};
      return to - from;
    });
  };
  const pending = await latencies('ORDER_PENDING_CONFIRMATION', 0);
  const success = await latencies('ORDER_SUCCESS', devnet.blocksToSuccess);
  return { rate, pending, success, steps };
}

function timesOf(arrivals: readonly Arrival[], type: string, visibleAt: (blockNum: number) => number) {
  return new Map(
    arrivals
      .filter(({ notifyType }) => notifyType === type)
      .map(({ orderId, blockNum, atMs }) => [
        orderId,
        { visibleAtMs: visibleAt(blockNum), receivedAtMs: atMs },
      ]),
  );
}
