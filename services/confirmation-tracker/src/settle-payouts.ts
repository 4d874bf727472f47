import type { Tx } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import type { OrderOutcome } from './store/order-rows.ts';
import type { KnownPayout } from './store/payout-rows.ts';
import { expireDue, lockPayouts, settleFees, settleMoney, type PayoutSelection } from './store/payouts.ts';
import { saveOutcomes } from './store/save-outcomes.ts';
import { settlePayoutOrder } from './settle-payout-order.ts';
import type { SettleDeps } from './settle-orders.ts';
import type { LockOptions } from './store/lock-orders.ts';

export interface SettlePayoutDeps extends SettleDeps {
  /** Under which symbol the fees of a chain stand in the ledger. */
  readonly nativeSymbolOf: (chain: Chain) => string;
}

/**
 * Brings the selected payouts' orders in line with the signer and the chain, within the caller's transaction: lock, expiry,
 * ledger and facts, decision, save, as sets. What is due expires here and nowhere else, so that an expired payout, its FAILED order,
 * its amount set free and its callback are one commit.
 * @returns what was done, for orders where anything was
 */
export async function settlePayouts(
  tx: Tx,
  deps: SettlePayoutDeps,
  selection: PayoutSelection,
  options: LockOptions = {},
): Promise<readonly OrderOutcome[]> {
  const orders = await lockPayouts(tx, selection, options);
  if (orders.length === 0) return [];
  // Also one that was sent, and whose transactions are all proven to land nowhere.
  const waiting = orders.flatMap(({ status, orderPk }) =>
    status === 'INIT' || status === 'PENDING' ? [orderPk] : [],
  );
  await expireDue(tx, waiting);
  const known = await settleMoney(tx, orders);
  const outcomes = orders.flatMap((order) => {
    const payout = known.get(order.orderPk);
    return payout === undefined ? [] : [settlePayoutOrder(deps, order, payout)];
  });
  const done = outcomes.filter(
    (outcome) => outcome.moved !== null || outcome.incidents.length > 0 || outcome.notifications.length > 0,
  );
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
