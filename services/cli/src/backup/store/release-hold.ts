import type { Db } from '@opentill/db/database';
import { familyOf } from '@opentill/domain/chains';
import { sql } from 'kysely';
import type { Hold } from './restored-rows.ts';

/** Also releases its halt, and the lease, which the next signer then takes, in one transaction. */
export async function releaseHold(
  db: Db,
  { restoreId, chain, wallet, restoredAt }: Hold,
  operator: string,
  reason: string,
): Promise<void> {
  // Without nonces, transactions signed before the restore have earlier timestamps and are known to be expired.
  const mark = familyOf(chain) === 'EVM' ? null : restoredAt.getTime();
  await db.transaction().execute(async (tx) => {
    await sql`
      update restore_hold set released_at = clock_timestamp(), released_by = ${operator}, released_reason = ${reason}
      where restore_id = ${restoreId} and chain = ${chain} and wallet = ${wallet} and released_at is null`.execute(
      tx,
    );
    await sql`
      update wallet_halt set released_at = clock_timestamp(), released_by = ${operator}, released_reason = ${reason},
        mark = coalesce(mark, ${mark}::int8)
      where chain = ${chain} and wallet = ${wallet} and set_by = 'opentill restore' and released_at is null`.execute(
      tx,
    );
    await sql`
      update signer.lease set expires_at = clock_timestamp()
      where name = ${`wallet/${chain}/${wallet}`} and holder = ${`restore ${restoreId}`}`.execute(tx);
    // The last wallet of a chain also releases its sweeps.
    await sql`
      update signer.lease set expires_at = clock_timestamp()
      where name = ${`sweeps/${chain}`} and holder = ${`restore ${restoreId}`} and not exists (
        select from restore_hold h where h.restore_id = ${restoreId} and h.chain = ${chain} and h.released_at is null)`.execute(
      tx,
    );
    await sql`
      insert into audit_entry (operator, action, subject, outcome, details)
      values (${operator}, 'releaseRestore', ${`${chain}/${wallet}`}, 'DONE', ${JSON.stringify({ restoreId, reason })})`.execute(
      tx,
    );
  });
}
