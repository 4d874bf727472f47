import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { SpentRow } from '../payout-store.ts';
import type { WalletKey } from '../wallet-facts.ts';

/**
 * What counts against a policy's limits, of all wallets of the chain: what was signed in the windows, which are closed and
 * have no upper end, and all that may still be signed, however long ago it was authorised.
 */
export async function readSpent(db: Db, { chain }: WalletKey): Promise<readonly SpentRow[]> {
  const { rows } = await sql<{ symbol: string; merchant_id: string; hour: bigint; day: bigint }>`
    with counted as (
      select p.order_pk, true as in_hour from payout p where p.chain = ${chain} and p.state = 'AUTHORISED'
      union all
      select p.order_pk, p.authorised_at >= now() - interval '1 hour' from payout p
      where p.chain = ${chain} and p.authorised_at >= now() - interval '1 day' and p.state = 'SIGNED'
    )
    select o.symbol, o.merchant_id, sum(o.amount) as day, coalesce(sum(o.amount) filter (where c.in_hour), 0) as hour
    from counted c join orders o using (order_pk)
    group by o.symbol, o.merchant_id`.execute(db);
  return rows.map((row) => ({
    symbol: row.symbol,
    merchantId: row.merchant_id,
    lastHour: BigInt(row.hour),
    lastDay: BigInt(row.day),
  }));
}
