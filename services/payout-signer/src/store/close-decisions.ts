import { sql } from 'kysely';
import type { Tx } from '@opentill/db/database';

/** PAY_AGAIN decisions before an attempt's death do not count. Open ones would keep operators from making another. */
export async function closeStaleDecisions(tx: Tx, orderPks: readonly string[]): Promise<void> {
  if (orderPks.length === 0) return;
  await sql`
    update payout_decision d set handled_at = clock_timestamp(), outcome = 'NOT_POSSIBLE',
      detail = 'an attempt was proven dead after this decision'
    where d.order_pk = any(${orderPks}::uuid[]) and d.decision = 'PAY_AGAIN' and d.handled_at is null
      and not attempt_is_decided(d.order_pk)`.execute(tx);
}

export async function closeDecision(tx: Tx, decisionId: string, why: string | undefined): Promise<void> {
  await sql`
    update payout_decision set handled_at = clock_timestamp(), outcome = ${why === undefined ? 'DONE' : 'NOT_POSSIBLE'},
      detail = ${why ?? null}
    where decision_id = ${decisionId} and handled_at is null`.execute(tx);
}
