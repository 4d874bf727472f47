import { sql } from 'kysely';
import type { Db, Tx } from '@opentill/db/database';
import type { SpentRow } from '../payout-store.ts';
import type { WalletKey } from '../wallet-facts.ts';
import { COUNTS_AS } from './rows.ts';

/**
 * What counts against a policy's limits, of all wallets of the chain but without the payouts given: what was signed in the
 * windows, which are closed and have no upper end, and all that may still be signed, however long ago it was authorised; beside
 * it what waits for approval.
 */
export async function readSpent(
  db: Db,
  { chain }: WalletKey,
  without: readonly string[] = [],
): Promise<readonly SpentRow[]> {
  const { rows } = await sql<{
    counts_as: string;
    merchant_id: string;
    hour: bigint;
    day: bigint;
    waiting: bigint;
  }>`
    with counted as (
      select p.order_pk, true as in_hour, true as in_day from payout p where p.chain = ${chain} and p.state = 'AUTHORISED'
      union all
      select p.order_pk, p.authorised_at >= now() - interval '1 hour', true from payout p
      where p.chain = ${chain} and p.authorised_at >= now() - interval '1 day' and p.state = 'SIGNED'
      union all
      select p.order_pk, false, false from payout p
      where p.chain = ${chain} and p.state = 'REQUESTED' and p.obstacle = 'NEEDS_APPROVAL'
    )
    select ${COUNTS_AS} as counts_as, o.merchant_id,
      coalesce(sum(o.amount) filter (where c.in_hour), 0) as hour,
      coalesce(sum(o.amount) filter (where c.in_day), 0) as day,
      coalesce(sum(o.amount) filter (where not c.in_day), 0) as waiting
    from counted c join orders o using (order_pk) left join movement m using (order_pk)
    where c.order_pk <> all (${without}::uuid[])
    group by 1, o.merchant_id`.execute(db);
  return rows.map((row) => ({
    countsAs: row.counts_as,
    merchantId: row.merchant_id,
    lastHour: BigInt(row.hour),
    lastDay: BigInt(row.day),
    waiting: BigInt(row.waiting),
  }));
}

/**
 * Until its transaction ends no other wallet of the chain authorises or signs: limits are of all of them together. What is
 * read from now on says what they did. The lock is a row that no other role can take.
 */
export async function lockWindows(tx: Tx, { chain }: WalletKey): Promise<void> {
  const lock = () =>
    sql`select chain from signer.policy_windows where chain = ${chain} for no key update`.execute(tx);
  if ((await lock()).rows.length > 0) return;
  // The first time on this chain. Whoever makes the row holds it; another one waits for that here, and then for the lock.
  await sql`insert into signer.policy_windows (chain) values (${chain}) on conflict do nothing`.execute(tx);
  await lock();
}
