import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import { sql } from 'kysely';
import { PROVEN } from '../wallet-state.ts';

/** The planner plans refused movements again. Call it only when every transaction of the wallet is known. */
export async function refuseUnsigned(db: Db, chain: Chain, wallet: string): Promise<void> {
  const { rows } = await sql<{ order_pk: string }>`
    update payout p set state = 'REFUSED', reason = 'Restored', waiting_since = null, obstacle = null, obstacle_at = null,
      version = p.version + 1, updated_at = clock_timestamp()
    from movement m, doubtful_payout d
    where m.order_pk = p.order_pk and d.order_pk = p.order_pk and d.decision is null
      and m.kind <> 'REFUND' and p.chain = ${chain} and p.state = 'REQUESTED' and p.wallet = ${wallet}
    returning p.order_pk`.execute(db);
  const orderPks = rows.map((row) => row.order_pk);
  if (orderPks.length === 0) return;
  await sql`
    update doubtful_payout set decision = 'REFUSE', decided_by = ${PROVEN.by}, decided_reason = 'unsigned at the backup: planned anew',
      decided_at = clock_timestamp() where order_pk = any(${orderPks}::uuid[])`.execute(db);
  await sql`select settle_payout_money(${orderPks}::uuid[])`.execute(db);
}
