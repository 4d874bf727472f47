import type { OpsAnswer } from '@opentill/contracts/ops/catalog';
import { notFound, type CliContext } from '../context.ts';
import { openOps, type EarlierAnswer, type OpsClient } from '../ops-client.ts';

type Detail = EarlierAnswer<OpsAnswer<'getOrder'>, 'options' | 'pricing'>;

const ORDER_ID = /^[A-Za-z0-9_.:~@-]{1,64}$/;
const CHAIN_WORD = /^[A-Za-z0-9:_.-]{1,200}$/;
const ORDERS_MAX = 100;

/** Accepts an order id, a transaction hash or an address. @throws GatewayError NOT_FOUND */
export async function explain(context: CliContext, wanted: string): Promise<void> {
  const ops = await openOps(context);
  const orderPks = await findOrders(ops, wanted);
  if (orderPks.length === 0) {
    throw notFound(
      `${wanted} is not an order id, a deposit address or a transaction that paid one. ` +
        'If it paid a deposit address, read the chain again: opentill rescan --chain <chain> --from <height> --to <height>',
    );
  }
  for (const orderPk of orderPks) explainOrder(context, await ops.call('getOrder', { orderPk }));
}

async function findOrders(ops: OpsClient, wanted: string): Promise<readonly string[]> {
  const asked = [
    ...(ORDER_ID.test(wanted) ? [{ orderId: wanted }] : []),
    ...(CHAIN_WORD.test(wanted) ? [{ address: wanted }, { txid: wanted }] : []),
  ];
  const found = (await Promise.all(asked.map((filter) => ops.list('listOrders', filter, ORDERS_MAX)))).flat();
  const byKey = new Map(found.map((order) => [order.orderPk, order]));
  return [...byKey.values()]
    .toSorted((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt))
    .map(({ orderPk }) => orderPk);
}

function explainOrder(context: CliContext, detail: Detail): void {
  const { print } = context;
  const { order, options = [], chainCursor } = detail;
  print(
    `${order.orderType} ${order.orderId} of merchant ${order.merchantId}: ${order.status}${order.reason ? ` (${order.reason})` : ''}`,
  );
  const place = order.orderType === 'PAYOUT' ? 'to' : 'at';
  const where = order.address === null ? 'not chosen yet' : `${place} ${order.address}`;
  print(`  ${order.amount} ${order.symbol} on ${order.chain} ${where}`);
  for (const { amount, symbol, chain, rate, address, chosenAt, isCurrent } of options) {
    const chosen = chosenAt === null ? '' : `, chosen ${chosenAt}${isCurrent ? ' (current)' : ''}`;
    print(`  option ${amount} ${symbol} on ${chain}, rate ${rate}, at ${address ?? '-'}${chosen}`);
  }
  if (detail.pricing) {
    const { price, currency, rate, markupBps, kind, sources } = detail.pricing;
    print(`  price ${price} ${currency}, rate ${rate} (${kind}), markup ${markupBps} bps`);
    for (const { source, pair, value, at } of sources) print(`    ${source} ${pair} ${value} at ${at}`);
  }
  print(`  detected ${order.detectedAmount}, actual ${order.actualAmount ?? '-'}`);
  print(`  created ${order.createdAt}, expires ${order.expiresAt}`);
  if (order.linkId) print(`  opened by payment link ${order.linkId}`);
  if (options.length === 0) print(`  chain ${progressOf(chainCursor)}`);
  const chains = new Map(options.map((option) => [option.chain, option.chainCursor]));
  for (const [chain, cursor] of chains) print(`  ${chain} ${progressOf(cursor)}`);
  if (order.orderType === 'COLLECTION') explainTransfers(context, detail);
  explainPayout(context, detail);
  for (const { decision, operator, reason, decidedAt, outcome } of detail.decisions) {
    print(`  ${decision} by ${operator} at ${decidedAt}: ${outcome ?? 'waits for the tracker'} (${reason})`);
  }
  for (const { kind, openedAt, closedAt } of detail.incidents) {
    print(`  incident ${kind} of ${openedAt}: ${closedAt === null ? 'open' : `closed ${closedAt}`}`);
  }
  explainCallbacks(context, detail);
}

function progressOf(cursor: Detail['chainCursor']): string {
  return cursor === null
    ? 'was never read: no scanner has committed a cursor'
    : `read to ${cursor.seenHeight} (verified ${cursor.verifiedHeight}, ${cursor.verifiedTime}), head ${cursor.headHeight}`;
}

function explainTransfers({ print }: CliContext, { order, options = [], transfers }: Detail): void {
  if (transfers.length === 0) print('  no transfer to its address was seen');
  for (const t of transfers) {
    const fate = [
      t.state,
      t.booked && 'booked',
      t.credited && 'credited',
      t.unmatchedReason !== null && `unmatched: ${t.unmatchedReason}`,
    ];
    const isAsset = [order, ...options].some((coin) => t.chain === coin.chain && t.symbol === coin.symbol);
    const amount = isAsset && t.amount !== null ? t.amount : `${t.amountBaseUnits} base units`;
    print(`  transfer ${amount} ${t.symbol} on ${t.chain}, ${t.txHash} ${t.position}`);
    print(`    block ${t.blockHeight} at ${t.blockTime}: ${fate.filter(Boolean).join(', ')}`);
  }
}

function explainPayout({ print }: CliContext, { payout, ownTransactions }: Detail): void {
  if (payout === null) return;
  const why =
    payout.obstacle === null ? '' : `, obstacle ${payout.obstacle} since ${payout.obstacleAt ?? '?'}`;
  print(`  payout ${payout.state} from ${payout.wallet}${why}`);
  if (payout.waitingForApproval) {
    print(`    waits for approval since ${payout.waitingSince ?? '?'}, ${payout.approvals.length} received`);
  }
  if (payout.veto !== null) print(`    vetoed by ${payout.veto.operator}: ${payout.veto.reason}`);
  for (const t of ownTransactions) {
    const fate =
      t.fate === null
        ? 'not in a block yet'
        : `${t.fate.state} in block ${t.fate.blockHeight ?? '?'}, ${t.fate.succeeded ? 'succeeded' : 'failed'}`;
    const bounds = t.attempt === null ? `with nonce ${t.nonce ?? '?'}` : `valid until ${t.attempt.expiresAt}`;
    const end = t.attempt?.state === 'DEAD' ? 'expired without landing' : fate;
    print(`  signed ${t.txHash} ${bounds} at ${t.signedAt}, sent ${t.firstSentAt ?? 'not yet'}: ${end}`);
  }
}

function explainCallbacks({ print }: CliContext, { notifications }: Detail): void {
  for (const n of notifications) {
    const state = n.deliveryState ?? 'not yet queued';
    const next = n.nextAttemptAt === null ? '' : `, next attempt ${n.nextAttemptAt}`;
    print(
      `  callback ${n.sequence} ${n.notifyType} ${n.eventId}: ${state} after ${n.attempts} attempts${next}`,
    );
    for (const a of n.attemptList) {
      print(
        `    attempt ${a.attempt} at ${a.startedAt}: ${a.statusCode ?? a.error ?? 'no answer'} in ${a.durationMs} ms`,
      );
    }
  }
}
