import type { BenchOrder } from './create-orders.ts';
import type { BenchGateway } from './start-bench-gateway.ts';
import type { Sprayer } from './spray-payments.ts';
import { createQuietly } from './steady-load.ts';

/** Milliseconds after the block was visible at the node. */
export interface StageTimes {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** A block full of payments, from its visibility to the last callback of each kind. */
export interface FullBlockFigures {
  readonly payments: number;
  /** The payments' own block: each stage, and what the merchant received last. */
  readonly seen: Readonly<Record<string, StageTimes>>;
  /** The block that makes them deep enough to be credited. */
  readonly credited: Readonly<Record<string, StageTimes>>;
}

const DEADLINE_MS = 60_000;

/** Pays `payments` orders in one block and follows them through the stages, then lets them be credited. */
export async function measureFullBlock(
  bench: BenchGateway,
  sprayer: Sprayer,
  payments: number,
): Promise<FullBlockFigures> {
  const orders = await createQuietly(bench, payments, sprayer.chain);
  const { arrivals } = bench.recorder;
  arrivals.length = 0;
  await sprayer.queue(orders.map(({ address }) => address));
  await sleep(1_000); // nothing else is under way
  const height = await sprayer.mine();
  await untilArrived(bench, 'ORDER_PENDING_CONFIRMATION', payments);
  for (let block = 0; block < sprayer.blocksToSuccess; block += 1) {
    await sleep(1_000);
    await sprayer.mine();
  }
  await untilArrived(bench, 'ORDER_SUCCESS', payments);
  await sleep(500); // attempts are recorded behind the answers
  return {
    payments,
    seen: await readStages(
      bench,
      orders,
      'ORDER_PENDING_CONFIRMATION',
      await visibleAt(sprayer, height),
      true,
    ),
    credited: await readStages(
      bench,
      orders,
      'ORDER_SUCCESS',
      await visibleAt(sprayer, height + sprayer.blocksToSuccess),
      false,
    ),
  };
}

/** The times that the stages wrote down themselves (each that of the beginning of its transaction). */
async function readStages(
  bench: BenchGateway,
  orders: readonly BenchOrder[],
  notifyType: string,
  visibleAtMs: number,
  isFirst: boolean,
): Promise<Record<string, StageTimes>> {
  const transferTime = isFirst ? 't.detected_at' : 't.verified_at';
  const span = (time: string): string =>
    `min(extract(epoch from ${time})) * 1000 as first, max(extract(epoch from ${time})) * 1000 as last`;
  const { rows } = await bench.database.query<{ stage: string; first: string; last: string }>(
    `with mine as materialized (select order_pk, address from orders where order_id = any($1)),
       told as materialized (
         select n.event_id, n.occurred_at from notification n join mine on mine.order_pk = n.subject_id
         where n.notify_type = $2)
     select '${isFirst ? 'transfers written' : 'transfers verified'}' as stage, ${span(transferTime)}
       from transfer t join mine on mine.address = t.to_address
     union all select 'orders decided', ${span('occurred_at')} from told
     union all select 'deliveries queued', ${span('d.created_at')} from told join delivery d using (event_id)
     union all select 'requests begun', ${span('a.started_at')} from told join delivery_attempt a using (event_id)`,
    [orders.map(({ orderId }) => orderId), notifyType],
  );
  const since = (epochMs: string): number =>
    Math.round(Number(epochMs) - performance.timeOrigin - visibleAtMs);
  const stages = rows.map(
    ({ stage, first, last }) => [stage, { firstMs: since(first), lastMs: since(last) }] as const,
  );
  const wanted = new Set(orders.map(({ orderId }) => orderId));
  const received = bench.recorder.arrivals
    .filter((one) => one.notifyType === notifyType && wanted.has(one.orderId))
    .map(({ atMs }) => Math.round(atMs - visibleAtMs));
  return {
    ...Object.fromEntries(stages),
    'callbacks received': { firstMs: Math.min(...received), lastMs: Math.max(...received) },
  };
}

async function visibleAt({ visibleAtMs }: Sprayer, height: number): Promise<number> {
  for (;;) {
    const at = visibleAtMs.get(height);
    if (at !== undefined) return at;
    await sleep(10);
  }
}

async function untilArrived({ recorder }: BenchGateway, notifyType: string, count: number): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  const missing = (): number =>
    count - recorder.arrivals.filter((one) => one.notifyType === notifyType).length;
  while (missing() > 0) {
    if (performance.now() > deadline) throw new Error(`${missing()} callbacks ${notifyType} did not come`);
    await sleep(20);
  }
}

async function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
