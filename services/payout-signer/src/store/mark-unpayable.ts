import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import { assertLease, type Lease } from '@opentill/db/lease';
import type { Obstacle, WalletKey } from '../wallet-facts.ts';
import { freeNoncesOf } from './save-findings.ts';
import { noteObstacles } from './save-authorised.ts';

const MARKED_AT_ONCE = 500;
const OBSTACLE: Obstacle = 'PAYOUTS_NOT_CONFIGURED';

/**
 * Notes why payouts that could still be signed are not, and lets the clocks of those that waited for approval go on. Those that
 * may have been paid go on waiting for an operator's word. @returns those that it was news of, and whether these are all
 */
export async function markUnpayable(
  db: Db,
  key: WalletKey,
  lease: Lease,
): Promise<{ readonly orderPks: readonly string[]; readonly isAll: boolean }> {
  const { rows } = await sql<{ order_pk: string }>`
    (select p.order_pk from payout p where p.chain = ${key.chain} and p.wallet = ${key.wallet} and p.state = 'REQUESTED'
      and (p.obstacle is null or p.obstacle not in (${OBSTACLE}, 'MAYBE_PAID')) limit ${MARKED_AT_ONCE})
    union all
    (select p.order_pk from payout p where p.chain = ${key.chain} and p.wallet = ${key.wallet} and p.state = 'AUTHORISED'
      and p.obstacle is distinct from ${OBSTACLE} limit ${MARKED_AT_ONCE})`.execute(db);
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
