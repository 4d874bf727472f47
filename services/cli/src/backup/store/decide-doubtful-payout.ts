import { backupError } from '@opentill/db/backup/backup-error';
import type { Db } from '@opentill/db/database';
import { writeAudit } from '@opentill/db/operators';
import { sql } from 'kysely';
import type { Decided } from '../wallet-state.ts';
import type { NamedPayout, StoredPayment } from './restored-rows.ts';

/** @throws GatewayError RESTORE_NOT_RECONCILED when the payout is not in doubt */
export async function decideDoubtful(
  db: Db,
  { orderPk, orderId }: Pick<NamedPayout, 'orderPk' | 'orderId'>,
  decision: 'PAY' | 'REFUSE',
  { by: operator, reason }: Decided,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const { rows } = await sql`
      update doubtful_payout set decision = ${decision}, decided_by = ${operator}, decided_reason = ${reason},
        decided_at = clock_timestamp()
      where order_pk = ${orderPk} and decision is null returning order_pk`.execute(tx);
    if (rows.length === 0)
      throw backupError('RESTORE_NOT_RECONCILED', `${orderId} is already decided, or was never in doubt`);
    if (decision === 'PAY')
      await sql`
        update payout p set waiting_since = case p.state when 'REQUESTED' then clock_timestamp() end, expires_at = clock_timestamp() + (o.expires_at - o.created_at),
          version = p.version + 1, updated_at = clock_timestamp()
        from orders o where o.order_pk = p.order_pk and p.order_pk = ${orderPk}
          and p.state in ('REQUESTED', 'AUTHORISED', 'SIGNED')`.execute(tx);
    else
      await sql`
        insert into payout_veto (order_pk, operator, reason) values (${orderPk}, ${operator}, ${reason})
        on conflict do nothing`.execute(tx);
    const details = { decision, reason };
    const entry = { action: 'decideDoubtfulPayout', subject: orderPk, details } as const;
    await writeAudit(tx, { operator, outcome: 'DONE', requestId: null, ...entry });
  });
}

/** Makes later payouts equal to a payment of a lost order wait for an operator, or not. */
export async function setGuard(
  db: Db,
  { chain, txHash }: StoredPayment,
  guards: boolean,
  { by: operator, reason }: Decided,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`update forgotten_payment set guards = ${guards}, decided_by = ${operator}, decided_reason = ${reason},
      decided_at = clock_timestamp() where chain = ${chain} and tx_hash = ${txHash} and decision = 'ORDER_LOST'`.execute(
      tx,
    );
    const details = { chain, txHash, guards, reason };
    const entry = { action: 'guardForgottenPayment', subject: null, details } as const;
    await writeAudit(tx, { operator, outcome: 'DONE', requestId: null, ...entry });
  });
}
