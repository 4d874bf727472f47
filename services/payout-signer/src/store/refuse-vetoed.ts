import { sql } from 'kysely';
import type { Tx } from '@opentill/db/database';
import { lockPayouts } from './rows.ts';

const VETOED = 'Refused by operator';

export async function refuseVetoed(
  tx: Tx,
  fencingToken: number,
  orderPks: readonly string[],
): Promise<readonly string[]> {
  await lockPayouts(tx, orderPks);
  const { rows } = await sql<{ order_pk: string }>`
    update payout p set state = 'REFUSED', reason = ${VETOED}, obstacle = null, obstacle_at = null, waiting_since = null,
      fencing_token = ${fencingToken}, version = p.version + 1, updated_at = now()
    where p.order_pk = any(${orderPks}::uuid[]) and p.state in ('REQUESTED', 'AUTHORISED')
    returning p.order_pk`.execute(tx);
  return rows.map((row) => row.order_pk);
}
