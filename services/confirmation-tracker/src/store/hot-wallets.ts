import { sql } from 'kysely';
import type { Db, Tx } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import type { Clock } from '@opentill/runtime/clock';
import type { NewId } from '@opentill/runtime/ids';
import type { BookedTopUp, HotWalletTransfer } from './order-rows.ts';

/** See make_gas_payable(). Returns the base units moved. */
export async function makeGasPayable(db: Db, chain: Chain, symbol: string): Promise<bigint> {
  const { rows } = await sql<{
    amount: bigint;
  }>`select make_gas_payable(${chain}, ${symbol}) as amount`.execute(db);
  return rows[0]?.amount ?? 0n;
}

/** See settle_hot_wallet_deposits(). */
export async function bookTopUps(
  tx: Tx,
  transfers: readonly HotWalletTransfer[],
): Promise<readonly BookedTopUp[]> {
  const { rows } = await sql<BookedTopUp>`
    select transfer_id as "transferId", chain, symbol, booked, taken_back as "takenBack"
    from settle_hot_wallet_deposits(${JSON.stringify(transfers)}::jsonb)`.execute(tx);
  return rows;
}

/** Also holds the payouts of the asset. */
export async function openTopUpIncidents(
  tx: Tx,
  deps: { readonly clock: Clock; readonly newId: NewId },
  gone: readonly BookedTopUp[],
): Promise<void> {
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
        reason: 'a reorganisation orphaned a deposit to a hot wallet',
        set_at: openedAt,
      })),
    )
    .execute();
}
