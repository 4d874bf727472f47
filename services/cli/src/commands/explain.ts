import { formatAmount } from '@opentill/domain/money';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Db } from '@opentill/db/database';
import type { CliContext, CliErrorCode } from '../context.ts';
import { withOpsDatabase } from '../open-ops-database.ts';
import {
  attemptsOf,
  cursorOf,
  findOrders,
  notificationsOf,
  transfersOf,
  type ExplainedOrder,
} from '../store.ts';

/**
 * Tells everything that is known of an order id, a transaction hash or a deposit address, in the order in which a
 * payment walks: order, transfers, callbacks.
 * @throws GatewayError NOT_FOUND
 */
export async function explain(context: CliContext, wanted: string): Promise<void> {
  await withOpsDatabase(context, async ({ kysely }) => {
    const orders = await findOrders(kysely, wanted);
    if (orders.length === 0) {
      throw new GatewayError<CliErrorCode>(
        'NOT_FOUND',
        `Nothing is known of ${wanted}: no order id, no deposit address, no transaction that paid one. ` +
          'If it paid a deposit address, ask the chain again: opentill rescan --chain <chain> --from <height> --to <height>',
        { retryable: false },
      );
    }
    for (const order of orders) await explainOrder(context, kysely, order);
  });
}

async function explainOrder(context: CliContext, db: Db, order: ExplainedOrder): Promise<void> {
  const { print } = context;
  const money = (value: bigint) => formatAmount(value, order.decimals, order.displayDecimals);
  print(
    `${order.orderType} ${order.orderId} of merchant ${order.merchantId}: ${order.status}${order.reason ? ` (${order.reason})` : ''}`,
  );
  print(
    `  ${money(order.amount)} ${order.symbol} on ${order.chain} ${order.orderType === 'PAYOUT' ? 'to' : 'at'} ${order.address}`,
  );
  print(
    `  detected ${money(order.detectedAmount)}, actual ${order.actualAmount === null ? '-' : money(order.actualAmount)}`,
  );
  print(`  created ${order.createdAt.toISOString()}, expires ${order.expiresAt.toISOString()}`);
  const cursor = await cursorOf(db, order.chain);
  if (cursor) {
    print(
      `  chain read to ${cursor.seenHeight} (verified ${cursor.verifiedHeight}, ${cursor.verifiedTime.toISOString()}), head ${cursor.headHeight}`,
    );
  } else {
    print('  the chain has never been read: no scanner has committed a cursor');
  }
  await explainTransfers(context, db, order);
  await explainCallbacks(context, db, order);
}

async function explainTransfers(context: CliContext, db: Db, order: ExplainedOrder): Promise<void> {
  if (order.orderType !== 'COLLECTION') return;
  const transfers = await transfersOf(db, order.orderPk);
  if (transfers.length === 0) context.print('  no transfer to its address has been seen');
  for (const t of transfers) {
    const fate = [
      t.state,
      t.booked && 'booked',
      t.credited && 'credited',
      t.unmatchedReason && `unmatched: ${t.unmatchedReason}`,
    ];
    const amount =
      t.chain === order.chain && t.symbol === order.symbol
        ? formatAmount(t.amount, order.decimals, order.displayDecimals)
        : `${t.amount} base units`;
    context.print(`  transfer ${amount} ${t.symbol} on ${t.chain}, ${t.txHash} ${t.position}`);
    context.print(
      `    block ${t.blockHeight} at ${t.blockTime.toISOString()}: ${fate.filter(Boolean).join(', ')}`,
    );
  }
}

async function explainCallbacks(context: CliContext, db: Db, order: ExplainedOrder): Promise<void> {
  for (const n of await notificationsOf(db, order.orderPk)) {
    const state = n.state ?? 'not yet queued';
    const next =
      n.state === 'PENDING' && n.nextAttemptAt ? `, next attempt ${n.nextAttemptAt.toISOString()}` : '';
    context.print(
      `  callback ${n.sequence} ${n.notifyType} ${n.eventId}: ${state} after ${n.attempts ?? 0} attempts${next}`,
    );
    for (const a of await attemptsOf(db, n.eventId)) {
      context.print(
        `    attempt ${a.attempt} at ${a.startedAt.toISOString()}: ${a.statusCode ?? a.error ?? 'no answer'} in ${a.durationMs} ms`,
      );
    }
  }
}
