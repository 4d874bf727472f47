import { committed, type HandlerDeps } from './handlers/settle-event.ts';
import { isolates, settleOrders } from './settle-orders.ts';
import { findDueOrders } from './store/find-unsettled.ts';
import { ORDERS_PER_TRANSACTION, ordersByKey } from './store/lock-orders.ts';

export interface DueSweepOptions {
  readonly limit?: number;
  readonly everyDepth?: boolean;
}

/**
 * Transactions of at most ORDERS_PER_TRANSACTION. Skips orders locked by another replica.
 * @returns 'again' if there may be more
 */
export async function sweepDueOrders(
  deps: HandlerDeps,
  { limit = ORDERS_PER_TRANSACTION, everyDepth = true }: DueSweepOptions = {},
): Promise<void | 'again'> {
  const orderPks = await findDueOrders(deps.db, limit, {
    verifiedDepths: deps.verifiedDepths,
    everyDepth,
    now: deps.clock.now(),
  });
  if (orderPks.length === 0) return undefined;
  const settled = await settleDue(deps, orderPks);
  return settled > 0 && orderPks.length >= limit ? 'again' : undefined;
}

async function settleDue(deps: HandlerDeps, orderPks: readonly string[]): Promise<number> {
  try {
    return await settleKeys(deps, orderPks);
  } catch (error) {
    if (!isolates(error)) throw error;
  }
  // One order failed.
  let settled = 0;
  for (const orderPk of orderPks) {
    try {
      settled += await settleKeys(deps, [orderPk]);
    } catch (error) {
      if (!isolates(error)) throw error;
      deps.observe.notSettled({ orderPk }, error);
    }
  }
  return settled;
}

async function settleKeys(deps: HandlerDeps, orderPks: readonly string[]): Promise<number> {
  const outcomes = await deps.db
    .transaction()
    .execute((tx) => settleOrders(tx, deps, ordersByKey(orderPks), { skipLocked: true }));
  committed(deps, outcomes);
  return outcomes.length;
}
