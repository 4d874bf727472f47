import { sql } from 'kysely';
import type { OpsInput } from '@opentill/contracts/ops/catalog';
import type { OperatorRole } from '@opentill/contracts/ops/roles';
import type { Db, Tx } from '@opentill/db/database';
import { OPERATOR_COLUMNS, type Operator } from '@opentill/db/operators';
import { dateOf } from '../page.ts';

export async function findOperators(db: Db, after: string | undefined, limit: number): Promise<Operator[]> {
  return db
    .selectFrom('operator')
    .select(OPERATOR_COLUMNS)
    .where('operator_id', '>', after ?? '')
    .orderBy('operator_id')
    .limit(limit)
    .execute();
}

export async function lockForChange(tx: Tx, operatorId: string): Promise<Operator | undefined> {
  return tx
    .selectFrom('operator')
    .select(OPERATOR_COLUMNS)
    .where('operator_id', '=', operatorId)
    .forUpdate()
    .executeTakeFirst();
}

export async function updateOperator(
  db: Db,
  operatorId: string,
  change: { name?: string; role?: OperatorRole; disabledAt?: Date | null; tokenHash?: Buffer },
): Promise<Operator> {
  return db
    .updateTable('operator')
    .set({
      ...(change.name !== undefined && { name: change.name }),
      ...(change.role !== undefined && { role: change.role }),
      ...(change.disabledAt !== undefined && { disabled_at: change.disabledAt }),
      ...(change.tokenHash !== undefined && { token_hash: change.tokenHash }),
    })
    .where('operator_id', '=', operatorId)
    .returning(OPERATOR_COLUMNS)
    .executeTakeFirstOrThrow();
}

export async function findAudit(
  db: Db,
  filter: OpsInput<'listAudit'>,
  after: string | undefined,
  limit: number,
) {
  const [from, until] = [dateOf(filter.from), dateOf(filter.until)];
  let query = db
    .selectFrom('audit_entry')
    .select([
      'entry_id as entryId',
      'at',
      'operator',
      'action',
      'subject',
      'outcome',
      'request_id as requestId',
      'details',
    ])
    .orderBy('entry_id', 'desc')
    .limit(limit);
  if (after !== undefined) query = query.where('entry_id', '<', Number(after));
  if (filter.operator !== undefined) query = query.where('operator', '=', filter.operator);
  if (filter.action !== undefined) query = query.where('action', '=', filter.action);
  if (filter.subject !== undefined) query = query.where('subject', '=', filter.subject);
  if (filter.outcome !== undefined) query = query.where('outcome', '=', filter.outcome);
  if (from !== undefined) query = query.where('at', '>=', from);
  if (until !== undefined) query = query.where('at', '<', until);
  return query.execute();
}

/** Holds an advisory lock until the end of the transaction, for a name that has no row yet. */
export async function lockName(tx: Tx, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(tx);
}
