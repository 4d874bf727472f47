import type { HandlerDeps } from './handlers/settle-event.ts';
import { bookTopUps, openTopUpIncidents } from './store/hot-wallets.ts';
import type { HotWalletTransfer } from './store/order-rows.ts';
import { isolates } from './settle-orders.ts';
import { ORDERS_PER_TRANSACTION } from './store/lock-orders.ts';

/**
 * See settle_hot_wallet_deposits(). An orphaned deposit may be reserved or spent, so it opens an incident and holds the
 * payouts of the asset. A deposit that cannot be booked is reported and left to the next sweep.
 */
export async function settleHotWalletDeposits(
  deps: HandlerDeps,
  transfers: readonly HotWalletTransfer[],
): Promise<void> {
  for (let i = 0; i < transfers.length; i += ORDERS_PER_TRANSACTION) {
    const some = transfers.slice(i, i + ORDERS_PER_TRANSACTION);
    try {
      await settleBatch(deps, some);
    } catch (error) {
      if (!isolates(error)) throw error;
      for (const transfer of some) await settleSingle(deps, transfer);
    }
  }
}

async function settleSingle(deps: HandlerDeps, transfer: HotWalletTransfer): Promise<void> {
  try {
    await settleBatch(deps, [transfer]);
  } catch (error) {
    if (!isolates(error)) throw error;
    deps.observe.notSettled({ transferId: transfer.transferId }, error);
  }
}

async function settleBatch(deps: HandlerDeps, transfers: readonly HotWalletTransfer[]): Promise<void> {
  const booked = await deps.db.transaction().execute(async (tx) => {
    const topUps = await bookTopUps(tx, transfers);
    const gone = topUps.filter((topUp) => topUp.takenBack !== null);
    if (gone.length > 0) await openTopUpIncidents(tx, deps, gone);
    return topUps;
  });
  for (const topUp of booked) deps.observe.topUpBooked(topUp);
}
