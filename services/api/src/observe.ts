import type { Database } from '@opentill/db/database';
import type { Chain, Family } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import { observePools } from '@opentill/runtime/observe-pools';
import type { Exchange } from './exchange.ts';
import type { NewOrder } from './store/create-orders.ts';

export type Observe = ReturnType<typeof createObserve>;

/**
 * Levels: info for every request, error for a fault of the gateway, warn for a request rejected because a part is down.
 */
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
    ...lastingRefusals(logger),
    merchantUnreadable(merchantId: string, error: unknown): void {
      logger.error('merchant disabled: its token cannot be decrypted', { merchantId, error });
    },
    merchantsNotRead(error: unknown): void {
      logger.warn('merchants not read', { error });
    },
    /** A permanent failure is an error: no order can be created before an operator acts. */
    depositAddressesLow(error: unknown): void {
      const isTemporary = error instanceof GatewayError && error.retryable;
      logger[isTemporary ? 'warn' : 'error']('deposit addresses not refilled', { error });
    },
    housekeepingFailed(error: unknown): void {
      logger.warn('expired nonces and counters not deleted', { error });
    },
    /** A request that HTTP's parser or the server rejected before any route. */
    connectionRefused(requestId: string, reason: string): void {
      logger.info('connection refused', { requestId, reason });
    },
    /** Open streams send no updates until a poll succeeds; their pages poll meanwhile. */
    streamsFailed(error: unknown): void {
      logger.warn('order streams not polled', { error });
    },
    listening(port: number): void {
      logger.info('listening', { port });
    },
  };
}

/** Rejections of orders that last until an operator acts. */
function lastingRefusals(logger: Logger) {
  return {
    chainLeftOut(chain: Chain, error: unknown): void {
      logger.error('chain left out', { chain, error });
    },
    chainRegistered(chain: Chain): void {
      logger.info('chain registered', { chain });
    },
    registrationsNotRead(error: unknown): void {
      logger.warn('registered chains not read', { error });
    },
    hotWalletUnknown(family: string, address: string): void {
      logger.error('payout rejected: hot wallet not registered, run opentill setup with PUBLIC_KEYS_FILE', {
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
  observePools(metrics, database);
}
