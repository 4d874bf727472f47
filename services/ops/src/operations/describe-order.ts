import type { OpsAnswer } from '@opentill/contracts/ops/catalog';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import { inCoin } from '@opentill/domain/order-shares';
import { notFound } from '../ops-error.ts';
import { orderAmount, time, timeOrNull } from '../format.ts';
import { attemptsAt, notificationsOf } from '../store/callbacks.ts';
import { readCursors } from '../store/chains.ts';
import { postingsOf } from '../store/ledger.ts';
import { decisionsOf, readOptions, readOrder, readPricing } from '../store/orders.ts';
import { noncesOf, ownTransactionsOf, readPayout } from '../store/payouts.ts';
import { transfersOf } from '../store/transfers.ts';
import { findIncidents } from '../store/watch.ts';
import type { OpsDeps } from './ops-deps.ts';
import { showDecision, showOption, showOrder } from './show-order.ts';
import { showNonce, showOwnTransaction, showPayout } from './show-payout.ts';
import { showTransfer } from './show-transfer.ts';
import { showCursor, showIncident } from './show-watch.ts';

type Detail = OpsAnswer<'getOrder'>;

/** Per kind. Lists show the rest. */
const SHOWN_MAX = 500;
const ATTEMPTS_MAX = 1_000;

export async function describeOrder({ db, assets }: OpsDeps, orderPk: string): Promise<Detail> {
  const order = await readOrder(db, orderPk);
  if (order === undefined) throw notFound(`order ${orderPk}`);
  const cursors = await readCursors(db);
  const cursorOf = (chain: Chain) => {
    const cursor = cursors.find((one) => one.chain === chain);
    return cursor === undefined ? null : showCursor(cursor);
  };
  const payout = await readPayout(db, orderPk);
  const pricing = await readPricing(db, orderPk);
  const { acceptedAmount, confirmationsRequired, lateGraceSeconds, returnUrl, description, version } = order;
  const rest = { confirmationsRequired, lateGraceSeconds, returnUrl, description, version };
  return {
    order: {
      ...showOrder(order),
      acceptedAmount: orderAmount(inCoin(acceptedAmount, order), order),
      ...rest,
    },
    options: (await readOptions(db, [orderPk])).map((option) => ({
      ...showOption(order, option),
      chainCursor: cursorOf(option.chain),
    })),
    pricing: pricing === undefined ? null : { ...pricing, takenAt: time(pricing.takenAt) },
    chainCursor: cursorOf(order.chain),
    transfers: (await transfersOf(db, orderPk, SHOWN_MAX)).map((row) => showTransfer(assets, row)),
    notifications: await notificationsWithAttempts(db, orderPk),
    ledger: await ledgerOf(db, orderPk),
    payout: payout === undefined ? null : showPayout(payout),
    nonces: (await noncesOf(db, orderPk)).map(showNonce),
    ownTransactions: (await ownTransactionsOf(db, orderPk)).map(showOwnTransaction),
    decisions: (await decisionsOf(db, orderPk)).map(showDecision),
    incidents: (await findIncidents(db, { orderPk }, undefined, SHOWN_MAX)).map(showIncident),
  };
}

async function notificationsWithAttempts(db: Db, orderPk: string): Promise<Detail['notifications']> {
  const notifications = await notificationsOf(db, orderPk, SHOWN_MAX);
  const ids = notifications.map(({ eventId }) => eventId);
  const byEvent = Map.groupBy(await attemptsAt(db, ids, ATTEMPTS_MAX), ({ eventId }) => eventId);
  return notifications.map((row) => ({
    eventId: row.eventId,
    sequence: row.sequence,
    notifyType: row.notifyType,
    occurredAt: time(row.occurredAt),
    deliveryState: row.state,
    attempts: row.attempts ?? 0,
    nextAttemptAt: timeOrNull(row.nextAttemptAt),
    finishedAt: timeOrNull(row.finishedAt),
    attemptList: (byEvent.get(row.eventId) ?? []).map(showAttempt),
  }));
}

async function ledgerOf(db: Db, orderPk: string): Promise<Detail['ledger']> {
  const byTransaction = Map.groupBy(await postingsOf(db, orderPk, SHOWN_MAX), ({ ledgerTxId }) => ledgerTxId);
  return [...byTransaction.values()].flatMap((postings) => {
    const [first] = postings;
    if (first === undefined) return [];
    return {
      ledgerTxId: first.ledgerTxId,
      ref: first.ref,
      kind: first.kind,
      createdAt: time(first.createdAt),
      postings: postings.map(({ account, chain, symbol, merchantId, amount }) => ({
        account,
        chain,
        symbol,
        merchantId,
        amountBaseUnits: amount.toString(),
      })),
    };
  });
}

function showAttempt(
  row: Awaited<ReturnType<typeof attemptsAt>>[number],
): Detail['notifications'][number]['attemptList'][number] {
  const { attempt, startedAt, durationMs, statusCode, errorCode, error, excerpt } = row;
  return { attempt, startedAt: time(startedAt), durationMs, statusCode, errorCode, error, excerpt };
}
