import { GatewayError } from '@opentill/domain/gateway-error';
import type { Db, Tx } from '@opentill/db/database';
import { loadEveryTransfer, loadFacts, ROWS_AT_ONCE, type FactsSelection } from './store/load-facts.ts';
import type { LockedOrder, OrderFacts, OrderOutcome, TransferRow } from './store/order-rows.ts';
import { checkLedger, saveOutcomes, type SaveDeps } from './store/save-outcomes.ts';
import {
  settleOrder,
  type OperatorDecision,
  type OrderSettlement,
  type SettleOrderDeps,
  type TransferOutcome,
} from './settle-order.ts';
import { lockOrders, type LockOptions, type OrderSelection } from './store/lock-orders.ts';
import { withSpan } from './trace-outcome.ts';

export interface SettleDeps extends SettleOrderDeps, SaveDeps {
  readonly db: Db;
}

/**
 * Locks, loads, decides and saves within the caller's transaction. Lock and load are separate statements with separate
 * snapshots, so that changes of another replica are seen.
 * @returns outcomes of the orders that changed
 */
export async function settleOrders(
  tx: Tx,
  deps: SettleDeps,
  selection: OrderSelection,
  options: LockOptions & { readonly decisions?: ReadonlyMap<string, OperatorDecision> } = {},
): Promise<readonly OrderOutcome[]> {
  const locked = await lockOrders(tx, selection, options);
  if (locked.length === 0) return [];
  const { verifiedDepths, tokens } = deps;
  const { transferIds } = selection;
  const facts = await loadFacts(tx, { orders: locked, transferIds, verifiedDepths, tokens });
  const orders = inOrderOfPayment(locked, facts);
  const begin: Begin = (order, known) =>
    settleOrder(deps, order, known, deps.clock.now(), options.decisions?.get(order.orderPk));
  const outcomes = new Map<string, OrderOutcome>();
  const ofEvery: LockedOrder[] = [];
  for (const order of orders) {
    const known = facts.get(order.orderPk);
    const settlement = known && begin(order, known);
    if (settlement?.isOfEveryTransfer === true) ofEvery.push(order);
    else if (settlement) {
      outcomes.set(order.orderPk, outcomeOf(settlement, [settlement.take(known.transfers)]));
    }
  }
  const saved: OrderOutcome[] = [];
  if (ofEvery.length > 0) {
    const selected = { orders: ofEvery, transferIds, verifiedDepths, tokens };
    for await (const rows of settleEveryTransfer(tx, selected, begin, outcomes)) {
      await saveOutcomes(tx, deps, [rows]);
      // The deferred checks of all parts together could exceed the statement timeout of a commit.
      await checkLedger(tx);
      saved.push(rows);
    }
  }
  const done = orders
    .flatMap(({ orderPk }) => outcomes.get(orderPk) ?? [])
    .filter(hasEffect)
    .map(withSpan);
  if (done.length > 0) await saveOutcomes(tx, deps, done);
  return [...saved, ...done];
}

type Begin = (order: LockedOrder, facts: OrderFacts) => OrderSettlement;

/**
 * A single snapshot holds all transfers, so each order is decided again. Stores outcomes in `outcomes`; yields the rows
 * of an order with many transfers in parts before that.
 */
async function* settleEveryTransfer(
  tx: Tx,
  selected: FactsSelection,
  begin: Begin,
  outcomes: Map<string, OrderOutcome>,
): AsyncGenerator<OrderOutcome> {
  const orders = new Map(selected.orders.map((order) => [order.orderPk, order]));
  let settlement: OrderSettlement | undefined;
  let taken: TransferOutcome[] = [];
  const finish = () => {
    if (settlement === undefined) return;
    const outcome = outcomeOf(settlement, taken);
    outcomes.set(outcome.order.orderPk, outcome);
  };
  for await (const { orderPk, facts, others } of loadEveryTransfer(tx, selected)) {
    const order = orders.get(orderPk);
    if (order === undefined) continue;
    if (facts !== null) {
      finish();
      settlement = begin(order, facts);
      taken = [settlement.take(facts.transfers)];
    }
    if (settlement === undefined) continue;
    taken.push(settlement.take(others));
    if (others.length < ROWS_AT_ONCE) continue;
    yield { ...NOTHING_ELSE, order, ...joined(taken) };
    taken = [];
  }
  finish();
}

const NOTHING_ELSE = {
  moved: null,
  isDecided: false,
  notifications: [],
  reported: [],
  unlisted: [],
  newestChangeAt: null,
} as const;

function outcomeOf(settlement: OrderSettlement, taken: readonly TransferOutcome[]): OrderOutcome {
  const outcome = settlement.end();
  const { entries, unmatched, ...rows } = joined(taken);
  const reported = new Map(outcome.reported.map((row) => [row.transferId, row]));
  const changed = unmatched.map((row) => reported.get(row.transferId) ?? row);
  for (const { transferId } of changed) reported.delete(transferId);
  return {
    ...outcome,
    ...rows,
    unmatched: changed,
    reported: [...reported.values()],
    entries: [...entries, ...outcome.entries],
  };
}

function joined(taken: readonly TransferOutcome[]): TransferOutcome {
  return {
    settlements: taken.flatMap((one) => one.settlements),
    unmatched: taken.flatMap((one) => one.unmatched),
    incidents: taken.flatMap((one) => one.incidents),
    creditedAgain: taken.flatMap((one) => one.creditedAgain),
    entries: taken.flatMap((one) => one.entries),
  };
}

function hasEffect({ moved, settlements, unmatched }: OrderOutcome): boolean {
  return moved !== null || settlements.length > 0 || unmatched.length > 0;
}

/**
 * A backlog is credited and reported in order of payment. Across transactions, and hence replicas and blocks handled
 * concurrently, only the callbacks of one order are ordered.
 */
function inOrderOfPayment(
  orders: readonly LockedOrder[],
  facts: ReadonlyMap<string, OrderFacts>,
): readonly LockedOrder[] {
  const paidLast = (order: LockedOrder): TransferRow | undefined => {
    const known = facts.get(order.orderPk);
    return known?.newest ?? known?.transfers.findLast(({ state }) => state !== 'ORPHANED');
  };
  return orders
    .map((order) => ({ order, paid: paidLast(order) }))
    .toSorted(
      (a, b) =>
        (a.paid?.blockTimeSeconds ?? 0) - (b.paid?.blockTimeSeconds ?? 0) ||
        (a.paid?.transferId ?? 0) - (b.paid?.transferId ?? 0),
    )
    .map(({ order }) => order);
}

/**
 * One order of a batch may have caused the error, so the others should be settled without it. False for errors of the
 * database itself: unavailable, deadlock, missing permission.
 */
export function isolates(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return true;
  return !/^DATABASE_(UNAVAILABLE|CONFLICT|FORBIDDEN)$/.test(error.code);
}
