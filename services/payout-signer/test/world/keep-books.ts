import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';

export async function keepBooks(admin: Db, tracker: Db, chain: Chain, nativeSymbol: string): Promise<void> {
  const { rows } = await sql<{
    transfer_id: number;
    order_pk: string;
    merchant_id: string;
    symbol: string;
    amount: bigint;
  }>`
    select t.transfer_id, d.order_pk, o.merchant_id, t.symbol, t.amount from transfer t
      join deposit_address d on d.family = t.family and d.address = t.to_address join orders o using (order_pk)
    where t.state = 'VERIFIED' and not exists (select from transfer_settlement s where s.transfer_id = t.transfer_id)`.execute(
    admin,
  );
  for (const row of rows)
    await tracker.transaction().execute(async (tx) => {
      const { ledger_tx_id: id } = await tx
        .insertInto('ledger_transaction')
        .values({ ref: `deposit:${row.transfer_id}:1`, kind: 'DEPOSIT' })
        .returning('ledger_tx_id')
        .executeTakeFirstOrThrow();
      await sql`insert into ledger_posting (ledger_tx_id, account_id, amount) values
        (${id}, ledger_account_for('DEPOSIT', ${chain}, ${row.symbol}, null), ${row.amount}),
        (${id}, ledger_account_for('SUSPENSE', ${chain}, ${row.symbol}, ${row.merchant_id}), ${-row.amount})`.execute(
        tx,
      );
      await sql`insert into transfer_settlement (transfer_id, settled_version, order_pk, booked_amount, booked_symbol, bookings)
        values (${row.transfer_id}, 1, ${row.order_pk}, ${row.amount}, ${row.symbol}, 1)`.execute(tx);
    });
  await sql`select settle_payout_money(array(select order_pk from payout))`.execute(tracker);
  await sql`select settle_network_fees(coalesce((select jsonb_agg(jsonb_build_object('chain', f.chain, 'txHash', f.tx_hash,
      'nativeSymbol', ${nativeSymbol}::text, 'version', f.version)) from own_transaction_fate f
    where not exists (select from own_transaction_settlement s where s.chain = f.chain and s.tx_hash = f.tx_hash
      and s.settled_version = f.version)), '[]'))`.execute(tracker);
}
