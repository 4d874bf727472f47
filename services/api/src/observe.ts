import type { Database } from '@opentill/db/database';
import type { Family } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import type { Exchange } from './exchange.ts';
import type { NewOrder } from './store/create-orders.ts';

/** What happens in the api, by name: each logs and counts in one place. */
export type Observe = ReturnType<typeof createObserve>;

/** Levels: every request is info; a request that failed by our fault is error; one refused for a down part is warn. */
export function createObserve({ logger, metrics }: { readonly logger: Logger; readonly metrics: Metrics }) {
  const duration = metrics.histogram({
    name: 'opentill_api_request_duration_seconds',
    help: 'Time from the request to its answer.',
    labelNames: ['route', 'code'],
  });
  const signatures = metrics.counter({
    name: 'opentill_api_signatures_accepted_total',
    help: 'Accepted request signatures by the form of data that matched.',
    labelNames: ['form'],
  });
  const orders = metrics.counter({
    name: 'opentill_api_orders_created_total',
    help: 'Orders created.',
    labelNames: ['type', 'chain', 'symbol'],
  });

  return {
    requestAnswered(exchange: Exchange, code: number): void {
      const durationMs = performance.now() - exchange.startedMs;
      duration.observe({ route: exchange.route, code }, durationMs / 1000);
      const { requestId, method, route, clientAddress, merchantId, orderId } = exchange;
      logger.info('request', {
        requestId,
        method,
        route,
        code,
        durationMs: Math.round(durationMs * 1000) / 1000,
        clientAddress,
        merchantId,
        orderId,
      });
    },
    /** An answer of 500 or 503: why. */
    requestFailed(exchange: Exchange, code: number, error: unknown): void {
      const { requestId, route } = exchange;
      logger[code === 500 ? 'error' : 'warn']('request failed', { requestId, route, code, error });
    },
    signatureAccepted(merchantId: string, form: string): void {
      signatures.inc({ form });
      logger.debug('signature accepted', { merchantId, form });
    },
    orderCreated(order: NewOrder): void {
      const { orderPk, orderType, merchantId, orderId, chain, symbol } = order;
      orders.inc({ type: orderType, chain, symbol });
      logger.info('order created', { orderPk, orderType, merchantId, orderId, chain, symbol });
    },
    ...payoutRefusals(logger),
    merchantUnreadable(merchantId: string, error: unknown): void {
      logger.error('merchant left out: its token cannot be opened', { merchantId, error });
    },
    merchantsNotRead(error: unknown): void {
      logger.warn('merchants not read', { error });
    },
    /** What will not pass by itself is an error: no order can be created before somebody acts. */
    depositAddressesLow(error: unknown): void {
      const passes = error instanceof GatewayError && error.retryable;
      logger[passes ? 'warn' : 'error']('deposit addresses not refilled', { error });
    },
    housekeepingFailed(error: unknown): void {
      logger.warn('spent nonces and counters not forgotten', { error });
    },
    /** What was no request that a route could answer. */
    connectionRefused(requestId: string, reason: string): void {
      logger.info('connection refused', { requestId, reason });
    },
    /** Those who watch orders hear nothing new until it is over; their pages poll. */
    streamsFailed(error: unknown): void {
      logger.warn('watched orders not read', { error });
    },
    listening(port: number): void {
      logger.info('listening', { port });
    },
  };
}

/** What keeps payouts from being taken until somebody acts. */
function payoutRefusals(logger: Logger) {
  return {
    hotWalletUnknown(family: string, address: string): void {
      logger.error('payout refused: opentill setup with PUBLIC_KEYS_FILE has to write the hot wallet down', {
        family,
        address,
      });
    },
  };
}

export interface Load {
  readonly database: Pick<Database, 'stats'>;
  readonly pool: { level(family: Family): number };
  readonly families: readonly Family[];
  readonly streams: { count(): number };
}

/** Gauges that are read when the metrics are. */
export function observeLoad(metrics: Metrics, { database, pool, families, streams }: Load): void {
  metrics.gauge({
    name: 'opentill_api_order_streams_count',
    help: 'Open streams of server-sent events.',
    collect: (gauge) => gauge.set(streams.count()),
  });
  metrics.gauge({
    name: 'opentill_api_deposit_addresses_ready_count',
    help: 'Deposit addresses derived ahead of orders.',
    labelNames: ['family'],
    collect: (gauge) => {
      for (const family of families) gauge.set({ family }, pool.level(family));
    },
  });
  metrics.gauge({
    name: 'opentill_api_database_callers_waiting_count',
    help: 'Requests that wait for a database connection.',
    collect: (gauge) => gauge.set(database.stats().waiting),
  });
}
