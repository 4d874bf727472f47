import { inCoin } from '@opentill/domain/order-shares';
import type { Db } from '@opentill/db/database';
import { readCursorAges } from '@opentill/db/chain-status';
import type { Rolled } from '@opentill/db/housekeeping';
import { databaseFigures, deadRows, oldestTransactionSeconds } from '@opentill/db/measure-database';
import type { Chain } from '@opentill/domain/chains';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import type { PayableCoin } from './native-symbols.ts';
import { oldestDueSeconds, openIncidents } from './store/measure-backlog.ts';
import type { BookedTopUp, OrderOutcome } from './store/order-rows.ts';

export interface Observe {
  orderSettled(outcome: OrderOutcome): void;
  /** The rest of its batch was settled without it. */
  notSettled(
    which: { readonly orderPk?: string; readonly transferId?: string | number },
    error: unknown,
  ): void;
  /** `found` were unsettled: their events were lost or late. */
  transfersSwept(found: number): void;
  fatesSwept(found: number): void;
  topUpBooked(topUp: BookedTopUp): void;
  /** Orders may now use the native coin that was booked for fees. */
  gasMadePayable(moved: PayableCoin & { readonly amount: bigint }): void;
  sweepFailed(name: string, error: unknown, failuresInRow: number): void;
  presenceFailed(error: unknown): void;
  inboxRolled(rolled: Rolled): void;
}

export interface ObserveDeps {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: { now(): Date };
}

export function createObserve({ logger, metrics, clock }: ObserveDeps): Observe {
  const count = createCounters(metrics);
  return {
    orderSettled(outcome) {
      const { order, moved, newestChangeAt } = outcome;
      if (moved !== null && moved.status !== order.status) {
        count.moved.inc({ status: moved.status, chain: order.chain });
      }
      if (newestChangeAt !== null) {
        const seconds = (clock.now().getTime() - newestChangeAt.getTime()) / 1_000;
        count.settleSeconds.observe({ chain: order.chain }, Math.max(0, seconds));
      }
      for (const { reason, withdrawn } of outcome.unmatched) if (!withdrawn) count.unmatched.inc({ reason });
      for (const incident of outcome.incidents) {
        count.incidents.inc({ chain: incident.chain, kind: incident.kind });
        logger.error(incident.holdReason, { orderPk: order.orderPk, ...incident });
      }
      for (const { chain, symbol, transferId } of outcome.unlisted) {
        const { orderPk, orderId } = outcome.order;
        logger.warn('payment not in ORDER_UNMATCHED: its token is not configured', {
          orderPk,
          orderId,
          chain,
          symbol,
          transferId,
        });
      }
      logMoved(logger, outcome);
    },
    notSettled(which, error) {
      count.failures.inc();
      logger.error('order not settled', { ...which, error });
    },
    transfersSwept(found) {
      count.swept.inc(found);
      count.lastSweep.set(found);
      if (found > 0) logger.warn('transfers settled by the sweep', { found });
    },
    fatesSwept(found) {
      count.fatesSwept.inc(found);
      if (found > 0) logger.warn('fates settled by the sweep', { found });
    },
    topUpBooked(topUp) {
      const { chain, symbol, transferId } = topUp;
      const booked = topUp.booked?.toString() ?? null;
      const takenBack = topUp.takenBack?.toString() ?? null;
      count.topUps.inc({ chain });
      if (takenBack === null) return logger.info('top-up booked', { chain, symbol, transferId, booked });
      count.incidents.inc({ chain, kind: 'TOP_UP_ORPHANED' });
      logger.error('top-up taken back', { chain, symbol, transferId, takenBack, booked });
    },
    gasMadePayable({ chain, symbol, amount }) {
      logger.info('coin for fees made payable', { chain, symbol, amount: amount.toString() });
    },
    sweepFailed(name, error, failuresInRow) {
      if (failuresInRow === 1 || failuresInRow % 30 === 0)
        logger.warn('sweep failed', { name, failuresInRow, error });
    },
    presenceFailed(error) {
      logger.warn('presence not announced', { error });
    },
    inboxRolled({ dropped, deleted }) {
      if (dropped + deleted > 0) logger.info('inbox rolled', { dropped, deleted });
    },
  };
}

function logMoved(logger: Logger, { order, moved, notifications }: OrderOutcome): void {
  if (moved === null) return;
  const { orderPk, orderId, chain, amount, choices = null } = order;
  const baseUnitsOf = (sum: bigint) => inCoin(sum, { choices, amount }).toString();
  const told = notifications.map((n) => n.notifyType);
  if (moved.steps === 0) return logger.info('unmatched deposits changed', { orderPk, orderId, chain, told });
  logger.info('order moved', {
    orderPk,
    orderId,
    chain,
    from: order.status,
    to: moved.status,
    reason: moved.reason,
    detectedAmount: baseUnitsOf(moved.detectedAmount),
    actualAmount: moved.actualAmount === null ? null : baseUnitsOf(moved.actualAmount),
    told,
  });
}

function createCounters(metrics: Metrics) {
  return {
    moved: metrics.counter({
      name: 'opentill_tracker_orders_moved_total',
      help: 'Orders that entered a status',
      labelNames: ['status', 'chain'],
    }),
    settleSeconds: metrics.histogram({
      name: 'opentill_tracker_order_settlement_seconds',
      help: "Seconds from a scanner's record of a change to the commit of its order",
      labelNames: ['chain'],
    }),
    unmatched: metrics.counter({
      name: 'opentill_tracker_unmatched_deposits_total',
      help: 'Deposits not credited to an order, by reason',
      labelNames: ['reason'],
    }),
    incidents: metrics.counter({
      name: 'opentill_tracker_incidents_total',
      help: 'Incidents: credited transfers, payouts or top-ups orphaned; payouts that delivered a different amount',
      labelNames: ['chain', 'kind'],
    }),
    failures: metrics.counter({
      name: 'opentill_tracker_orders_not_settled_total',
      help: 'Attempts to settle an order that failed because of that order',
    }),
    swept: metrics.counter({
      name: 'opentill_tracker_transfers_swept_total',
      help: 'Unsettled transfers found by the sweep: their events were lost or late',
    }),
    fatesSwept: metrics.counter({
      name: 'opentill_tracker_fates_swept_total',
      help: 'Unsettled outcomes of own transactions found by the sweep: their events were lost or late',
    }),
    topUps: metrics.counter({
      name: 'opentill_tracker_top_ups_booked_total',
      help: 'Deposits to hot wallets booked or reversed in the ledger',
      labelNames: ['chain'],
    }),
    lastSweep: metrics.gauge({
      name: 'opentill_tracker_transfers_unsettled_count',
      help: 'Unsettled transfers found by the last sweep',
    }),
  };
}

/** Queried at each scrape. Only the tracker exports these gauges, because one service suffices. */
export function observeDatabase(metrics: Metrics, db: Db): void {
  metrics.gauge({
    name: 'opentill_tracker_database_oldest_transaction_seconds',
    help: 'Age of the oldest open transaction in seconds: vacuum removes no row that died after it began',
    async collect(gauge) {
      // If the database does not answer, the gauge keeps its last value. NaN if the role may not see transactions.
      const seconds = await oldestTransactionSeconds(db).catch(() => undefined);
      if (seconds !== undefined) gauge.set(seconds ?? Number.NaN);
    },
  });
  metrics.gauge({
    name: 'opentill_tracker_database_dead_rows_count',
    help: 'Dead rows not yet vacuumed, for tables with more than a hundred',
    labelNames: ['table'],
    async collect(gauge) {
      const dead = await deadRows(db).catch(() => undefined);
      if (dead === undefined) return;
      gauge.reset();
      for (const [table, count] of dead) gauge.set({ table }, count);
    },
  });
  observeServer(metrics, db);
}

function observeServer(metrics: Metrics, db: Db): void {
  const connectionsMax = metrics.gauge({
    name: 'opentill_tracker_database_connections_max_count',
    help: 'Sessions that the database server admits for roles that are no superusers',
  });
  const bytes = metrics.gauge({
    name: 'opentill_tracker_database_size_bytes',
    help: 'Size of the database on disk',
  });
  const transactionIdAge = metrics.gauge({
    name: 'opentill_tracker_database_transaction_id_age_count',
    help: 'Transactions since the oldest row that is not frozen; Postgres stops writing at 2.1 billion',
  });
  metrics.gauge({
    name: 'opentill_tracker_database_connections_count',
    help: 'Sessions of the database server, by role',
    labelNames: ['role'],
    async collect(gauge) {
      const figures = await databaseFigures(db).catch(() => undefined);
      if (figures === undefined) return;
      connectionsMax.set(figures.connectionsMax);
      bytes.set(figures.bytes);
      transactionIdAge.set(figures.transactionIdAge);
      gauge.reset();
      for (const [role, count] of figures.connections) gauge.set({ role }, count);
    },
  });
}

/** Exported here, because a scanner that is gone exports no metric. */
export function observeCursors(metrics: Metrics, db: Db, chains: readonly Chain[]): void {
  metrics.gauge({
    name: 'opentill_tracker_chain_cursor_age_seconds',
    help: "Seconds since the scanner's last commit, for each enabled chain; +Inf before the first",
    labelNames: ['chain'],
    async collect(gauge) {
      // Exports no age if the query fails, so that a rule sees it (OpentillServiceMissing).
      const ages = await readCursorAges(db).catch(() => undefined);
      gauge.reset();
      if (ages === undefined) return;
      for (const chain of chains) gauge.set({ chain }, ages.get(chain) ?? Infinity);
    },
  });
}

export function observeBacklog(metrics: Metrics, db: Db): void {
  metrics.gauge({
    name: 'opentill_tracker_incidents_open_count',
    help: 'Incidents that no operator has closed',
    labelNames: ['chain', 'kind'],
    async collect(gauge) {
      const incidents = await openIncidents(db).catch(() => undefined);
      if (incidents === undefined) return;
      gauge.reset();
      for (const { chain, kind, count } of incidents) gauge.set({ chain, kind }, count);
    },
  });
  metrics.gauge({
    name: 'opentill_tracker_oldest_due_seconds',
    help: 'Waiting time of the oldest transfer, or outcome of an own transaction, that is not settled; of the newest 20,000',
    labelNames: ['work'],
    async collect(gauge) {
      const oldest = await oldestDueSeconds(db).catch(() => undefined);
      gauge.reset();
      for (const [work, seconds] of Object.entries(oldest ?? {})) gauge.set({ work }, seconds);
    },
  });
}
