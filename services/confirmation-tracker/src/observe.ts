import type { Db } from '@opentill/db/database';
import type { Rolled } from '@opentill/db/housekeeping';
import { deadRows, oldestTransactionSeconds } from '@opentill/db/measure-database';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import type { PayableCoin } from './native-symbols.ts';
import type { BookedTopUp, OrderOutcome } from './store/order-rows.ts';

/** What happens in the tracker, by name: logged and counted in one place. */
export interface Observe {
  /** An order was settled and committed; something of it changed. */
  orderSettled(outcome: OrderOutcome): void;
  /** One order could not be settled and was left behind; its set went on without it. */
  notSettled(
    which: { readonly orderPk?: string; readonly transferId?: string | number },
    error: unknown,
  ): void;
  /** A sweep over the transfers ended; `found` were not settled, so their events never came or came late. */
  transfersSwept(found: number): void;
  /** A sweep over the fates of own transactions ended; `found` were not settled. */
  fatesSwept(found: number): void;
  /** The ledger follows what came into a hot wallet, or was taken back. */
  topUpBooked(topUp: BookedTopUp): void;
  /** Coin that was booked for fees became payable, as its coin is an asset now. */
  gasMadePayable(moved: PayableCoin & { readonly amount: bigint }): void;
  /** A sweep failed and will be tried again. */
  sweepFailed(name: string, error: unknown, failuresInRow: number): void;
  /** This instance could not say that it is alive. */
  presenceFailed(error: unknown): void;
  /** Events handled long ago were forgotten. */
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
      const { order, moved, notifications, newestChangeAt } = outcome;
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
      if (moved === null) return;
      logger.info('order moved', {
        orderPk: order.orderPk,
        orderId: order.orderId,
        chain: order.chain,
        from: order.status,
        to: moved.status,
        reason: moved.reason,
        detectedAmount: moved.detectedAmount.toString(),
        actualAmount: moved.actualAmount?.toString() ?? null,
        told: notifications.map((n) => n.notifyType),
      });
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

function createCounters(metrics: Metrics) {
  return {
    moved: metrics.counter({
      name: 'opentill_tracker_orders_moved_total',
      help: 'Orders that entered a status',
      labelNames: ['status', 'chain'],
    }),
    settleSeconds: metrics.histogram({
      name: 'opentill_tracker_order_settlement_seconds',
      help: "From a scanner's record of a change to the commit of the order that it moved",
      labelNames: ['chain'],
    }),
    unmatched: metrics.counter({
      name: 'opentill_tracker_unmatched_deposits_total',
      help: 'Deposits that no order takes, by reason',
      labelNames: ['reason'],
    }),
    incidents: metrics.counter({
      name: 'opentill_tracker_incidents_total',
      help: 'What should never be: credited transfers, payouts or top-ups taken back, payouts that delivered another amount',
      labelNames: ['chain', 'kind'],
    }),
    failures: metrics.counter({
      name: 'opentill_tracker_orders_not_settled_total',
      help: 'Attempts to settle an order that failed by the order itself',
    }),
    swept: metrics.counter({
      name: 'opentill_tracker_transfers_swept_total',
      help: 'Transfers that the sweep found unsettled: their events were lost or late',
    }),
    fatesSwept: metrics.counter({
      name: 'opentill_tracker_fates_swept_total',
      help: 'Fates of own transactions that the sweep found unsettled: their events were lost or late',
    }),
    topUps: metrics.counter({
      name: 'opentill_tracker_top_ups_booked_total',
      help: 'Changes of the ledger by what came into hot wallets',
      labelNames: ['chain'],
    }),
    lastSweep: metrics.gauge({
      name: 'opentill_tracker_transfers_unsettled_count',
      help: 'Transfers that the last sweep found unsettled',
    }),
  };
}

/** How the database is: asked when the metrics are. The tracker tells it, because one service is enough to. */
export function observeDatabase(metrics: Metrics, db: Db): void {
  metrics.gauge({
    name: 'opentill_tracker_database_oldest_transaction_seconds',
    help: 'Age of the oldest open transaction: vacuum clears nothing that died since',
    async collect(gauge) {
      // Without the database the last figures stay; its own metrics tell. What can't be seen is no number.
      const seconds = await oldestTransactionSeconds(db).catch(() => undefined);
      if (seconds !== undefined) gauge.set(seconds ?? Number.NaN);
    },
  });
  metrics.gauge({
    name: 'opentill_tracker_database_dead_rows_count',
    help: 'Dead rows that vacuum has not cleared yet, of tables with more than a hundred',
    labelNames: ['table'],
    async collect(gauge) {
      const dead = await deadRows(db).catch(() => undefined);
      if (dead === undefined) return;
      gauge.reset();
      for (const [table, count] of dead) gauge.set({ table }, count);
    },
  });
}
