import { GatewayError } from '@opentill/domain/gateway-error';
import type { Db, Tx } from '@opentill/db/database';
import type { LockedOrder, OrderFacts, OrderOutcome, TransferRow } from './order-rows.ts';
import { saveOutcomes, type SaveDeps } from './save-outcomes.ts';
import { settleOrder, type OperatorDecision, type SettleOrderDeps } from './settle-order.ts';
import { loadFacts, lockOrders, type LockOptions, type OrderSelection } from './store.ts';

export interface SettleDeps extends SettleOrderDeps, SaveDeps {
  readonly db: Db;
}

/**
 * Brings the selected orders in line with the chain, within the caller's transaction: lock, facts, decision, save.
 * The lock comes before the facts, each in a statement and a snapshot of its own, so that what another replica has
 * just settled is seen. `decisions` are operators', by order. As the handling of an event that was handled before it does nothing.
 * @returns what was done, for orders where anything was
 */
export async function settleOrders(
  tx: Tx,
  deps: SettleDeps,
  selection: OrderSelection,
  options: LockOptions & { readonly decisions?: ReadonlyMap<string, OperatorDecision> } = {},
): Promise<readonly OrderOutcome[]> {
  const orders = await lockOrders(tx, selection, options);
  if (orders.length === 0) return [];
  const facts = await loadFacts(tx, orders, selection);
  const outcomes = inOrderOfPayment(orders, facts).flatMap((order) => {
    const known = facts.get(order.orderPk);
    return known === undefined
      ? []
      : [settleOrder(deps, order, known, options.decisions?.get(order.orderPk))];
  });
  const done = outcomes.filter(
    (outcome) => outcome.moved !== null || outcome.settlements.length > 0 || outcome.unmatched.length > 0,
  );
  if (done.length > 0) await saveOutcomes(tx, deps, done);
  return done;
}

/**
 * Who was paid first is told and credited first, when what piled up is settled at once. Across transactions, hence
 * across replicas and blocks whose events are handled side by side, only the callbacks of one order keep their order.
 */
function inOrderOfPayment(
  orders: readonly LockedOrder[],
  facts: ReadonlyMap<string, OrderFacts>,
): readonly LockedOrder[] {
  const paidLast = (order: LockedOrder): TransferRow | undefined =>
    facts.get(order.orderPk)?.transfers.findLast(({ state }) => state !== 'ORPHANED');
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
 * Whether an error may lie with one of the orders of a set, so that the others should be settled without it. False
 * for what has nothing to do with the orders: the database is away, a deadlock, a lost permission.
 */
export function isolates(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return true;
  return !/^DATABASE_(UNAVAILABLE|CONFLICT|FORBIDDEN)$/.test(error.code);
}
