import type { Tx } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import type { OrderOutcome } from './store/order-rows.ts';
import type { KnownPayout } from './store/payout-rows.ts';
import { expireDue, lockPayouts, settleFees, settleMoney, type PayoutSelection } from './store/payouts.ts';
import { saveOutcomes } from './store/save-outcomes.ts';
import { settlePayoutOrder } from './settle-payout-order.ts';
import type { SettleDeps } from './settle-orders.ts';
import type { LockOptions } from './store/lock-orders.ts';
import { withSpan } from './trace-outcome.ts';

export interface SettlePayoutDeps extends SettleDeps {
  readonly nativeSymbolOf: (chain: Chain) => string;
}

/**
 * Locks, expires, books, loads, decides and saves within the caller's transaction. Payouts expire only here, so that
 * expiry, FAILED order, released amount and callback are one commit.
 * @returns outcomes of the orders that changed
 */
export async function settlePayouts(
  tx: Tx,
  deps: SettlePayoutDeps,
  selection: PayoutSelection,
  options: LockOptions = {},
): Promise<readonly OrderOutcome[]> {
  const orders = await lockPayouts(tx, selection, options);
  if (orders.length === 0) return [];
  // Includes payouts that were sent, because all their transactions may have expired.
  const waiting = orders.flatMap(({ status, orderPk }) =>
    status === 'INIT' || status === 'PENDING' ? [orderPk] : [],
  );
  await expireDue(tx, waiting);
  const known = await settleMoney(tx, orders);
  const outcomes = orders.flatMap((order) => {
    const payout = known.get(order.orderPk);
    return payout === undefined ? [] : [settlePayoutOrder(deps, order, payout)];
  });
  const done = outcomes
    .filter(
      (outcome) => outcome.moved !== null || outcome.incidents.length > 0 || outcome.notifications.length > 0,
    )
    .map(withSpan);
  if (done.length > 0) await saveOutcomes(tx, deps, done);
  await settleFees(tx, unsettled(known), deps.nativeSymbolOf);
  return done;
}

function unsettled(known: ReadonlyMap<string, KnownPayout>) {
  return [...known.values()].flatMap(({ fates }) =>
    fates
      .filter((fate) => fate.settledVersion !== fate.version)
      .map(({ chain, txHash, version }) => ({ chain, txHash, version })),
  );
}
