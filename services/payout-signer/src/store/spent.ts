import { sql } from 'kysely';
import type { Db, Tx } from '@opentill/db/database';
import type { SpentRow, WalletKey } from '../payouts/payout-facts.ts';
import { COUNTS_AS } from './rows.ts';

/**
 * All wallets of the chain. Each attempt signed in a window counts, with any outcome, so a wrong proof of death pays no
 * more than the limits allow. Each payout that may still be signed counts once. Windows have no upper end.
 * @param without payouts that do not count as still to be signed; their attempts do
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
      select p.order_pk, true as in_hour, true as in_day from payout p
      where p.chain = ${chain} and p.state = 'AUTHORISED' and p.order_pk <> all (${without}::uuid[])
      union all -- a higher fee of the same nonce is the same attempt
      select t.order_pk, min(t.signed_at) >= now() - interval '1 hour', true from own_transaction t
      where t.chain = ${chain} and t.signed_at >= now() - interval '1 day' and t.purpose = 'PAYOUT'
      group by t.order_pk, t.nonce, case when t.nonce is null then t.signed_at end
      union all
      select p.order_pk, false, false from payout p
      where p.chain = ${chain} and p.state = 'REQUESTED' and p.obstacle = 'NEEDS_APPROVAL'
    )
    select ${COUNTS_AS} as counts_as, o.merchant_id,
      coalesce(sum(o.amount) filter (where c.in_hour), 0) as hour,
      coalesce(sum(o.amount) filter (where c.in_day), 0) as day,
      coalesce(sum(o.amount) filter (where not c.in_day), 0) as waiting
    from counted c join orders o using (order_pk) left join movement m using (order_pk)
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
 * No other wallet of the chain authorises or signs until the transaction ends: limits apply to all of them together.
 * The lock is a row that no other role can lock.
 */
export async function lockWindows(tx: Tx, { chain }: WalletKey): Promise<void> {
  const lock = () =>
    sql`select chain from signer.policy_windows where chain = ${chain} for no key update`.execute(tx);
  if ((await lock()).rows.length > 0) return;
  // The transaction that inserts the row holds it. Others wait here, and then for the lock.
  await sql`insert into signer.policy_windows (chain) values (${chain}) on conflict do nothing`.execute(tx);
  await lock();
}
