import pg from 'pg';
import type { Gateway } from '@opentill/local/start-gateway';
import { liftLimits } from './compare-creation.ts';
import { latenciesMs, payEvenly, quantile, recordHeads, type CallbackRecorder } from './measure-latency.ts';
import { memoryOf } from './read-memory.ts';

/** From the block visible at the node to the callback received, under load; and what the services weigh. */
export interface PaymentPathFigures {
  readonly paymentsPerSecond: number;
  readonly payments: number;
  readonly callbacks: Readonly<
    Record<
      string,
      { readonly count: number; readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number }
    >
  >;
  readonly residentMegabytesIdle: Readonly<Record<string, number>>;
  readonly residentMegabytesLoaded: Readonly<Record<string, number>>;
}

const PAYMENTS_PER_SECOND = 50;
const SECONDS = 20;
const CONFIRMATIONS = 3;
const SETTLE_MS = 30_000;

/** Pays 50 orders a second on a devnet with a block every second and times their callbacks. */
export async function measurePaymentPath(
  gateway: Gateway,
  recorder: CallbackRecorder,
  token: string,
): Promise<PaymentPathFigures> {
  const chain = gateway.chains.find(({ network }) => network.chain === 'ETH_SEPOLIA');
  if (chain === undefined) throw new Error('the devnet ETH_SEPOLIA does not run');
  const admin = new pg.Client({ connectionString: gateway.database.url });
  await admin.connect();
  await liftLimits(admin);
  await admin.end();
  const residentMegabytesIdle = memoryOf(gateway.services);
  const heads = await recordHeads(chain.node.rpcUrl.replace('http', 'ws'));
  const load = { apiUrl: gateway.apiUrl, shopUrl: gateway.shopUrl, token };
  await payEvenly({ ...load, paymentsPerSecond: 10, seconds: 5 }); // warm-up
  const orderIds = await payEvenly({ ...load, paymentsPerSecond: PAYMENTS_PER_SECOND, seconds: SECONDS });
  const residentMegabytesLoaded = memoryOf(gateway.services);
  await waitForSuccess(recorder, orderIds);
  heads.close();
  const figures = (notifyType: string, blocksLater: number) => {
    const sorted = latenciesMs(recorder.arrivals, heads.visibleAtMs, notifyType, orderIds, blocksLater);
    return {
      count: sorted.length,
      p50Ms: quantile(sorted, 0.5),
      p99Ms: quantile(sorted, 0.99),
      maxMs: quantile(sorted, 1),
    };
  };
  return {
    paymentsPerSecond: PAYMENTS_PER_SECOND,
    payments: orderIds.length,
    callbacks: {
      ORDER_PENDING_CONFIRMATION: figures('ORDER_PENDING_CONFIRMATION', 0),
      ORDER_SUCCESS: figures('ORDER_SUCCESS', CONFIRMATIONS - 1),
    },
    residentMegabytesIdle,
    residentMegabytesLoaded,
  };
}

async function waitForSuccess(recorder: CallbackRecorder, orderIds: readonly string[]): Promise<void> {
  const deadline = performance.now() + SETTLE_MS;
  const missing = (): number => {
    const done = new Set(
      recorder.arrivals.filter((a) => a.notifyType === 'ORDER_SUCCESS').map((a) => a.orderId),
    );
    return orderIds.filter((orderId) => !done.has(orderId)).length;
  };
  while (missing() > 0) {
    if (performance.now() > deadline)
      throw new Error(`${missing()} of ${orderIds.length} payments were not confirmed in time`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
