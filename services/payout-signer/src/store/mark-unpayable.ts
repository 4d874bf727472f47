import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import { assertLease, type Lease } from '@opentill/db/lease';
import type { Obstacle, WalletKey } from '../payouts/payout-facts.ts';
import { freeNoncesOf } from './save-findings.ts';
import { noteObstacles } from './save-authorised.ts';
import { announcePayouts, type EventDeps } from './save-sent.ts';
import { refuseVetoed } from './refuse-vetoed.ts';

const MARKED_AT_ONCE = 500;
const OBSTACLE: Obstacle = 'PAYOUTS_NOT_CONFIGURED';

/**
 * Restarts the expiry clocks of payouts that waited for approval. Payouts that may have been paid, or need a decision,
 * keep waiting for an operator. `isAll`: none is left.
 */
export async function markUnpayable(
  db: Db,
  key: WalletKey,
  lease: Lease,
): Promise<{ readonly orderPks: readonly string[]; readonly isAll: boolean }> {
  const { rows } = await sql<{ order_pk: string }>`
    (select p.order_pk from payout p where p.chain = ${key.chain} and p.wallet = ${key.wallet} and p.state = 'REQUESTED'
      and p.obstacle is distinct from ${OBSTACLE}
      and not (coalesce(p.obstacle = 'MAYBE_PAID', false) and may_have_been_paid(p.order_pk)) limit ${MARKED_AT_ONCE})
    union all
    (select p.order_pk from payout p where p.chain = ${key.chain} and p.wallet = ${key.wallet} and p.state = 'AUTHORISED'
      and (p.obstacle is null or p.obstacle not in (${OBSTACLE}, 'NEEDS_DECISION')) limit ${MARKED_AT_ONCE})`.execute(
    db,
  );
  const orderPks = rows.map((row) => row.order_pk);
  if (orderPks.length > 0)
    await db.transaction().execute(async (tx) => {
      await assertLease(tx, 'signer', lease);
      const obstacles = orderPks.map((orderPk) => ({ orderPk, obstacle: OBSTACLE }));
      await noteObstacles(tx, key, lease.fencingToken, obstacles);
      await freeNoncesOf(tx, key, orderPks);
    });
  return { orderPks, isAll: orderPks.length < MARKED_AT_ONCE };
}

export async function refuseUnpayable(
  db: Db,
  key: WalletKey,
  lease: Lease,
  deps: EventDeps,
): Promise<readonly string[]> {
  const { rows } = await sql<{ order_pk: string }>`
    select p.order_pk from payout_veto v join payout p using (order_pk)
    where p.chain = ${key.chain} and p.wallet = ${key.wallet} and p.state in ('REQUESTED', 'AUTHORISED')
    limit ${MARKED_AT_ONCE}`.execute(db);
  if (rows.length === 0) return [];
  const vetoed = rows.map((row) => row.order_pk);
  return db.transaction().execute(async (tx) => {
    await assertLease(tx, 'signer', lease);
    const refused = await refuseVetoed(tx, lease.fencingToken, vetoed);
    await freeNoncesOf(tx, key, refused);
    await announcePayouts(tx, key, refused, deps);
    return refused;
  });
}
