import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';

/** How the sweeps of a chain stand, by the database alone. */
export interface SweepFigures {
  readonly chain: Chain;
  /** How long the oldest money has been lying that is promised to no sweep, seconds; 0: none lies there. */
  readonly oldestUnsweptSeconds: number;
  readonly open: number;
  /** Since when the oldest sweep under way has been, seconds; 0: none is. */
  readonly oldestOpenSeconds: number;
  /** That ended FAILED in the last 24 hours. */
  readonly failed: number;
  /** Fees brought in the last 24 hours for sweeps that came to nothing: they lie there for the next one. */
  readonly unusedTopUps: number;
  /** Energy ordered of a seller, in the last 24 hours, for sweeps that came to nothing: he has been paid for it, or may have been. */
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
