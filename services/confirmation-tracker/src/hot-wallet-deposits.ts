import { sql } from 'kysely';
import type { Tx } from '@opentill/db/database';
import type { HandlerDeps } from './handlers/settle-event.ts';
import type { BookedTopUp, HotWalletTransfer } from './order-rows.ts';
import { isolates } from './settle-orders.ts';
import { ORDERS_PER_TRANSACTION } from './store.ts';

/**
 * Books what came into hot wallets, and takes back what a reorganisation took; see settle_hot_wallet_deposits(). What was
 * there and is gone may have been promised to payouts, or spent: an incident, with a hold on the payouts of the asset.
 * One that fails alone is reported and left to the next sweep.
 */
export async function settleHotWalletDeposits(
  deps: HandlerDeps,
  transfers: readonly HotWalletTransfer[],
): Promise<void> {
  for (let i = 0; i < transfers.length; i += ORDERS_PER_TRANSACTION) {
    const some = transfers.slice(i, i + ORDERS_PER_TRANSACTION);
    try {
      await settleTogether(deps, some);
    } catch (error) {
      if (!isolates(error)) throw error;
      for (const transfer of some) await settleAlone(deps, transfer);
    }
  }
}

async function settleAlone(deps: HandlerDeps, transfer: HotWalletTransfer): Promise<void> {
  try {
    await settleTogether(deps, [transfer]);
  } catch (error) {
    if (!isolates(error)) throw error;
    deps.observe.notSettled({ transferId: transfer.transferId }, error);
  }
}

async function settleTogether(deps: HandlerDeps, transfers: readonly HotWalletTransfer[]): Promise<void> {
  const booked = await deps.db.transaction().execute(async (tx) => {
    const { rows } = await sql<BookedTopUp>`
      select transfer_id as "transferId", chain, symbol, booked, taken_back as "takenBack"
      from settle_hot_wallet_deposits(${JSON.stringify(transfers)}::jsonb)`.execute(tx);
    const gone = rows.filter((row) => row.takenBack !== null);
    if (gone.length > 0) await openIncidents(tx, deps, gone);
    return rows;
  });
  for (const topUp of booked) deps.observe.topUpBooked(topUp);
}

async function openIncidents(tx: Tx, deps: HandlerDeps, gone: readonly BookedTopUp[]): Promise<void> {
  const openedAt = deps.clock.now();
  const incidents = gone.map((topUp) => ({ ...topUp, incidentId: deps.newId(), holdId: deps.newId() }));
  await tx
    .insertInto('incident')
    .values(
      incidents.map(({ incidentId, transferId, chain, symbol, takenBack, booked }) => ({
        incident_id: incidentId,
        kind: 'TOP_UP_ORPHANED' as const,
        chain,
        symbol,
        transfer_id: transferId,
        details: JSON.stringify({
          takenBackBaseUnits: takenBack?.toString() ?? '0',
          ...(booked !== null && { bookedAnewBaseUnits: booked.toString() }),
        }),
        opened_at: openedAt,
      })),
    )
    .execute();
  await tx
    .insertInto('asset_hold')
    .values(
      incidents.map(({ incidentId, holdId, chain, symbol }) => ({
        hold_id: holdId,
        chain,
        symbol,
        incident_id: incidentId,
        reason: 'a reorganisation took back what had come into a hot wallet',
        set_at: openedAt,
      })),
    )
    .execute();
}
