import { sql, type RawBuilder } from 'kysely';

/**
 * Base units of native coin. Failed tries do not count, because no plan includes them. `but`: a movement not to count.
 */
export function paidForSweep(but: RawBuilder<unknown> = sql`null::uuid`): RawBuilder<bigint> {
  return sql<bigint>`(coalesce(s.rent_cost, 0) + (
    select coalesce(sum(greatest(pf.network_fee, 0)), 0) from movement pm join payout pp on pp.order_pk = pm.order_pk
      join own_transaction pt on pt.order_pk = pm.order_pk
      join own_transaction_fate pf on pf.chain = pt.chain and pf.tx_hash = pt.tx_hash
    where pm.sweep_id = s.sweep_id and pm.order_pk is distinct from ${but} and pp.money not in ('RELEASED', 'RETURNED')
      and pf.state = 'VERIFIED'))`;
}
