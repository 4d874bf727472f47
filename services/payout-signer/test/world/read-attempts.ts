import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';

export interface AttemptRow {
  readonly tx_hash: string;
  readonly state: string;
  readonly send_outcome: string | null;
  readonly fate: string | null;
  readonly succeeded: boolean | null;
}

export interface AttemptReading {
  attemptsOf(order: OrderRow): Promise<readonly AttemptRow[]>;
  countUnsettled(orders: readonly OrderRow[]): Promise<number>;
  until(what: string, order: OrderRow, is: (attempts: readonly AttemptRow[]) => boolean): Promise<void>;
}

export function readAttempts(admin: Db): AttemptReading {
  const reading: AttemptReading = {
    async attemptsOf(order) {
      const { rows } = await sql<AttemptRow>`
        select a.tx_hash, a.state, t.send_outcome, f.state as fate, f.succeeded
        from payout_attempt a join own_transaction t using (chain, tx_hash) left join own_transaction_fate f using (chain, tx_hash)
        where a.order_pk = ${order.order_pk} order by a.unique_ms`.execute(admin);
      return rows;
    },
    async countUnsettled(orders) {
      const { rows } = await sql<{ n: number }>`
        select count(*)::int as n from payout p where p.order_pk = any(${orders.map((o) => o.order_pk)}::uuid[])
          and not exists (select from payout_attempt a where a.order_pk = p.order_pk and a.state = 'SETTLED')`.execute(
        admin,
      );
      return rows[0]?.n ?? 0;
    },
    until: (what, order, is) => waitUntil(what, async () => is(await reading.attemptsOf(order))),
  };
  return reading;
}
