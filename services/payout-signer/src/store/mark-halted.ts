import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import { assertLease, type Lease } from '@opentill/db/lease';
import type { ChainObstacle, Obstacle, WalletKey } from '../payouts/payout-facts.ts';
import { refuseUnpayable } from './mark-unpayable.ts';
import { noteObstacles } from './save-authorised.ts';
import { freeNoncesOf } from './save-findings.ts';
import type { EventDeps } from './save-sent.ts';

const MARKED_AT_ONCE = 500;
/** Not replaced: they need an operator, or keep a payout that may have been paid from expiring. */
const KEPT: readonly Obstacle[] = ['NEEDS_APPROVAL', 'NEEDS_DECISION', 'MAYBE_PAID', 'CHAIN_AHEAD'];

export async function holdForChain(
  db: Db,
  key: WalletKey,
  lease: Lease,
  obstacle: ChainObstacle,
  deps: EventDeps,
): Promise<number> {
  await refuseUnpayable(db, key, lease, deps);
  return markHalted(db, key, lease, obstacle);
}

/** While the chain is halted no count can refute CHAIN_AHEAD, so it is written again. Returns the number marked. */
async function markHalted(db: Db, key: WalletKey, lease: Lease, obstacle: Obstacle): Promise<number> {
  const ofWallet = sql`p.chain = ${key.chain} and p.wallet = ${key.wallet}`;
  const isUnmarked = sql`(p.obstacle is null or p.obstacle <> all(${[...KEPT, obstacle]}::text[]))`;
  const isAheadLong = sql`p.obstacle = 'CHAIN_AHEAD' and p.obstacle_at < clock_timestamp() - interval '45 seconds'`;
  const { rows } = await sql<{ order_pk: string; obstacle: Obstacle | null }>`
    select m.order_pk, m.obstacle from (
      (select p.order_pk, p.obstacle from payout p
        where ${ofWallet} and p.state = 'REQUESTED' and (${isUnmarked} or ${isAheadLong}) limit ${MARKED_AT_ONCE})
      union all
      (select p.order_pk, p.obstacle from payout p
        where ${ofWallet} and p.state = 'AUTHORISED' and (${isUnmarked} or ${isAheadLong}) limit ${MARKED_AT_ONCE})
    ) m`.execute(db);
  if (rows.length === 0) return 0;
  await db.transaction().execute(async (tx) => {
    await assertLease(tx, 'signer', lease);
    const obstacles = rows.map(({ order_pk: orderPk, obstacle: before }) => ({
      orderPk,
      obstacle: before === 'CHAIN_AHEAD' ? before : obstacle,
    }));
    await noteObstacles(tx, key, lease.fencingToken, obstacles);
    await freeNoncesOf(
      tx,
      key,
      rows.map((row) => row.order_pk),
    );
  });
  return rows.length;
}
