import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { SpentRow } from '../payout-store.ts';
import type { WalletKey } from '../wallet-facts.ts';

/** What counts against a policy's limits, of all wallets of the chain. The windows are closed, and have no upper end. */
export async function readSpent(db: Db, { chain }: WalletKey): Promise<readonly SpentRow[]> {
  const { rows } = await sql<{ symbol: string; merchant_id: string; hour: bigint; day: bigint }>`
    select o.symbol, o.merchant_id, sum(o.amount) as day,
      coalesce(sum(o.amount) filter (where p.authorised_at >= now() - interval '1 hour'), 0) as hour
    from payout p join orders o using (order_pk)
    where p.chain = ${chain} and p.authorised_at >= now() - interval '1 day' and p.state in ('AUTHORISED', 'SIGNED')
    group by o.symbol, o.merchant_id`.execute(db);
  return rows.map((row) => ({
    symbol: row.symbol,
    merchantId: row.merchant_id,
    lastHour: BigInt(row.hour),
    lastDay: BigInt(row.day),
  }));
}
