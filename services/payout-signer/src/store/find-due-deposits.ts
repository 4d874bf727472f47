import { sql, type RawBuilder } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { Db } from '@opentill/db/database';
import { familyOf, type Chain } from '@opentill/domain/chains';

export interface DepositAddress {
  readonly address: Address;
  readonly index: number;
}

/** Within a turn, waiting addresses keep their order among each other. */
const TURN_SECONDS = 300;
const turnOf = (moment: RawBuilder<unknown>) => sql`floor(extract(epoch from ${moment}) / ${TURN_SECONDS})`;
/** An attempt that is open for longer after its end may stay so: nodes pruned its blocks, or its row is forged. */
const CLOSED_SOON = sql`interval '10 minutes'`;

/**
 * With a movement of an open sweep, an open attempt, or an amount that a reorganisation promised again.
 *
 * Order: first those with something to do now. Then those that only wait, longest turn first. Last, in an order that
 * changes with each turn, those that a block holds and those that should have been closed long ago.
 */
export async function findDueDeposits(
  db: Db,
  chain: Chain,
  limit: number,
): Promise<readonly DepositAddress[]> {
  const { rows } = await sql<{ wallet: Address; derivation_index: number }>`
    with moving as (
      select p.wallet, p.requested_at, case when p.obstacle is not null then p.updated_at end as waits_since
      from sweep s join movement m using (sweep_id) join payout p using (order_pk)
      where s.chain = ${chain} and s.state = 'OPEN' and m.kind = 'SWEEP' and p.state in ('REQUESTED', 'AUTHORISED')
      union all -- sent: only resends are due, and none while a block holds it
      select p.wallet, p.requested_at, case when x.is_due then null when x.is_mined then now() else x.sent_at end
      from sweep s join movement m using (sweep_id) join payout p using (order_pk) join wallet_nonce n using (order_pk), lateral (
        select bool_or(f.state in ('VERIFIED', 'ORPHANED') or t.last_sent_at is null) as is_due, bool_or(f.state = 'MINED') as is_mined,
          max(t.last_sent_at) as sent_at
        from own_transaction t left join own_transaction_fate f on f.chain = t.chain and f.tx_hash = t.tx_hash
        where t.chain = n.chain and t.wallet = n.wallet and t.nonce = n.nonce) x
      where s.chain = ${chain} and s.state = 'OPEN' and m.kind = 'SWEEP' and p.state = 'SIGNED' and n.state in ('RESERVED', 'SIGNED')
      union all
      select a.wallet, p.requested_at, case
          when f.state = 'VERIFIED' then case when f.updated_at < now() - ${CLOSED_SOON} then now() end
          when attempt_is_over(a.chain, a.expires_ms, a.last_epoch)
            then case when to_timestamp(a.expires_ms / 1000.0) < now() - ${CLOSED_SOON} then now() end
          else t.last_sent_at end
      from payout_attempt a join own_transaction t using (chain, tx_hash) join payout p on p.order_pk = a.order_pk
        left join own_transaction_fate f on f.chain = a.chain and f.tx_hash = a.tx_hash
      where a.chain = ${chain} and a.state = 'OPEN'
      union all
      select p.wallet, p.requested_at, case when p.state = 'SIGNED' and not exists (
          select from own_transaction t join own_transaction_fate f on f.chain = t.chain and f.tx_hash = t.tx_hash
          where t.order_pk = p.order_pk and f.state = 'ORPHANED')
        or p.state <> 'SIGNED' and p.obstacle is not null then p.updated_at end
      from deposit_balance b join sweep s on s.chain = b.chain and s.address = b.address join movement m using (sweep_id)
        join payout p on p.order_pk = m.order_pk
      where b.chain = ${chain} and b.reserved > 0 and m.kind = 'SWEEP' and p.money in ('RESERVED', 'IN_FLIGHT')
        and (p.state = 'SIGNED' or s.state <> 'OPEN')
        and not (s.state = 'OPEN' and exists (
          select from wallet_nonce n where n.order_pk = p.order_pk and n.state in ('RESERVED', 'SIGNED')))
        and not exists (select from payout_attempt a where a.order_pk = p.order_pk and a.state = 'OPEN')
    )
    select m.wallet, d.derivation_index
    from moving m join deposit_address d on d.family = ${familyOf(chain)} and d.address = m.wallet
    group by 1, 2
    order by min(coalesce(${turnOf(sql`m.waits_since`)}, 0)),
      case when min(coalesce(${turnOf(sql`m.waits_since`)}, 0)) = ${turnOf(sql`now()`)} then hashtext(m.wallet || ${turnOf(sql`now()`)}) end,
      min(m.requested_at), 1 limit ${limit}`.execute(db);
  return rows.map((row) => ({ address: row.wallet, index: row.derivation_index }));
}
