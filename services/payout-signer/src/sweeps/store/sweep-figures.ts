import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';

export interface SweepFigures {
  readonly chain: Chain;
  /** Of money that is reserved for no sweep; 0: none. */
  readonly oldestUnsweptSeconds: number;
  readonly open: number;
  readonly oldestOpenSeconds: number;
  readonly failed: number;
  /** In the last 24 hours, for sweeps that ended without a transfer. The coin pays for the next sweep. */
  readonly unusedTopUps: number;
  /** In the last 24 hours, for sweeps that ended without a transfer. The energy was paid for, or may have been. */
  readonly unusedRents: number;
}

export async function readSweepFigures(db: Db, chains: readonly Chain[]): Promise<readonly SweepFigures[]> {
  const { rows } = await sql<SweepFigures>`
    select c.chain,
      coalesce((select extract(epoch from now() - min(b.since)) from deposit_balance b
        where b.chain = c.chain and b.received > b.swept + b.reserved), 0)::float8 as "oldestUnsweptSeconds",
      (select count(*)::int from sweep s where s.chain = c.chain and s.state = 'OPEN') as open,
      coalesce((select extract(epoch from now() - min(s.planned_at)) from sweep s
        where s.chain = c.chain and s.state = 'OPEN'), 0)::float8 as "oldestOpenSeconds",
      (select count(*)::int from sweep s
        where s.chain = c.chain and s.state = 'FAILED' and s.ended_at > now() - interval '1 day') as failed,
      (select count(*)::int from sweep s
        where s.chain = c.chain and s.state in ('FAILED', 'ABANDONED') and s.ended_at > now() - interval '1 day'
          and exists (select from movement m join payout p using (order_pk)
            where m.sweep_id = s.sweep_id and m.kind = 'GAS_TOP_UP' and p.money = 'PAID_OUT')) as "unusedTopUps",
      (select count(*)::int from sweep s
        where s.chain = c.chain and s.state in ('FAILED', 'ABANDONED') and s.ended_at > now() - interval '1 day' and s.rent_cost > 0) as "unusedRents"
    from unnest(${chains}::text[]) as c (chain)`.execute(db);
  return rows;
}
