import { sql, type RawBuilder } from 'kysely';
import type { Chain } from '@opentill/domain/chains';
import { MARGIN_PERCENT } from '@opentill/domain/fee-margin';

// The daily budget bounds any 24 hours: a sweep counts from its plan to a day after its end, whenever its fees were
// paid (../../../test/sweeps/sweep-budget.test.ts).

/**
 * Open sweeps count with what they paid plus the rest of their plan with its margin; failed tries count in addition.
 * Ended ones count with their fees and rent. An unknown data fee counts with its cap. A top-up is no cost by itself:
 * the rest of it pays the next sweep.
 */
export function spentLastDay(chain: Chain, nativeSymbol: string, dataFeeCap: bigint): RawBuilder<bigint> {
  return sql<bigint>`(
    select coalesce(sum(p.failed + case when s.state = 'OPEN' then greatest(p.kept, ${withMargin(sql`s.cost_estimate`)}) else p.kept end), 0)
    from sweep s, lateral (
      select coalesce(sum(greatest(n.booked_fee, 0)) filter (where y.money in ('RELEASED', 'RETURNED')), 0) as failed,
        coalesce(s.rent_cost, 0) + coalesce(sum(greatest(n.booked_fee, 0)) filter (where y.money not in ('RELEASED', 'RETURNED')), 0) as kept
      from movement m join payout y using (order_pk) join own_transaction t using (order_pk)
        join own_transaction_settlement n on n.chain = t.chain and n.tx_hash = t.tx_hash
      where m.sweep_id = s.sweep_id and n.booked_symbol = ${nativeSymbol}) p
    where s.chain = ${chain} and (s.state = 'OPEN' or s.ended_at > now() - interval '1 day')
  ) + (
    select coalesce(sum(greatest(n.booked_fee, 0)), 0) from movement m join payout p using (order_pk) join own_transaction t using (order_pk)
      join own_transaction_settlement n on n.chain = t.chain and n.tx_hash = t.tx_hash
    where m.kind = 'TO_COLD' and m.created_at > now() - ${MOVES_WITHIN_DAYS} * interval '1 day' and p.chain = ${chain}
      and n.booked_symbol = ${nativeSymbol} and n.updated_at > now() - interval '1 day'
  ) + ( -- under way to cold storage: the planned cost, or the highest signed fees of all attempts
    select coalesce(sum(greatest(${withMargin(sql`m.planned_cost`)}, x.fee)), 0)
    from movement m join payout p using (order_pk), lateral (
      select sum(a.fee) as fee from (
        select max(coalesce((t.fee_terms->>'cost')::numeric,
          (t.fee_terms->>'gasLimit')::numeric * (t.fee_terms->>'maxFeePerGas')::numeric
            + coalesce((t.fee_terms->>'dataFee')::numeric, ${dataFeeCap}::numeric))) as fee
        from own_transaction t where t.order_pk = m.order_pk group by t.nonce, case when t.nonce is null then t.tx_hash end) a) x
    where m.kind = 'TO_COLD' and m.created_at > now() - ${MOVES_WITHIN_DAYS} * interval '1 day' and p.chain = ${chain}
      and p.money in ('RESERVED', 'IN_FLIGHT')
  ) + (
    select coalesce(sum(case when f.state = 'VERIFIED' then greatest(f.network_fee, 0) else (t.fee_terms->>'cost')::numeric end), 0)
    from own_transaction t left join own_transaction_fate f on f.chain = t.chain and f.tx_hash = t.tx_hash
    where t.chain = ${chain} and t.purpose = 'GATHER' and t.signed_at > now() - interval '1 day')`;
}

function withMargin(cost: RawBuilder<unknown>): RawBuilder<bigint> {
  return sql<bigint>`div(${cost} * ${MARGIN_PERCENT}, 100)`;
}

/** Longer than transactions wait for a block. It bounds the query. */
const MOVES_WITHIN_DAYS = 14;

/** Orders to sellers, accepted or with an unknown outcome. */
export function rentedLastDay(chain: Chain): RawBuilder<bigint> {
  return sql<bigint>`(select coalesce(sum(r.rent_cost), 0) from sweep r
    where r.chain = ${chain} and r.method = 'RENT' and (r.state = 'OPEN' or r.ended_at > now() - interval '1 day')
      and r.rent_ordered_at > now() - interval '1 day')`;
}

/** The hot wallet loses all of it, even if some remains at the address. */
export function toppedUpLastDay(chain: Chain): RawBuilder<bigint> {
  return sql<bigint>`(select coalesce(sum(o.amount), 0) from payout p join movement m using (order_pk) join orders o using (order_pk)
    where p.chain = ${chain} and (p.state in ('REQUESTED', 'AUTHORISED') or p.authorised_at > now() - interval '1 day')
      and m.kind = 'GAS_TOP_UP' and payout_may_move(p.order_pk))`;
}
