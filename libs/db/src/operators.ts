import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { sql } from 'kysely';
import type { OperatorRole } from '@opentill/contracts/ops/roles';
import type { Db, Tx } from './database.ts';

export interface Operator {
  readonly operatorId: string;
  readonly name: string;
  readonly role: OperatorRole;
  readonly createdAt: Date;
  readonly disabledAt: Date | null;
}

const TOKEN = /^([a-z0-9][a-z0-9_-]{0,31})\.[A-Za-z0-9_-]{43}$/;
const SECRET_BYTES = 32;
/** Compared with the hash of a token without an operator, so that the answer takes equally long. */
const NO_TOKEN_HASH = Buffer.alloc(32);

/** The operator's id and 256 random bits. Shown once; the database stores only its hash. */
export function newOperatorToken(operatorId: string): string {
  return `${operatorId}.${randomBytes(SECRET_BYTES).toString('base64url')}`;
}

/** SHA-256. A slower hash is unnecessary for 256 random bits. */
export function hashOperatorToken(token: string): Buffer {
  return createHash('sha256').update(token, 'utf8').digest();
}

export function operatorIdOfToken(token: string): string | undefined {
  return TOKEN.exec(token)?.[1];
}

export const OPERATOR_COLUMNS = [
  'operator_id as operatorId',
  'name',
  'role',
  'created_at as createdAt',
  'disabled_at as disabledAt',
] as const;

export interface OfToken {
  /** Includes disabled operators; undefined for an unknown token. */
  readonly operator: Operator | undefined;
}

/** No cache: changes apply at once. Takes the same time if the operator or the rest of a token is wrong. */
export async function findOperatorsByTokens(db: Db, tokens: readonly string[]): Promise<readonly OfToken[]> {
  const ids = tokens.map(operatorIdOfToken);
  const claimed = [...new Set(ids.filter((id) => id !== undefined))];
  const rows = await db
    .selectFrom('operator')
    .select([...OPERATOR_COLUMNS, 'token_hash as tokenHash'])
    .where('operator_id', '=', sql<string>`any(${claimed}::text[])`)
    .execute();
  const byId = new Map(rows.map((row) => [row.operatorId, row]));
  return tokens.map((token, place) => {
    const { tokenHash, ...operator } = byId.get(ids[place] ?? '') ?? { tokenHash: NO_TOKEN_HASH };
    const same = timingSafeEqual(hashOperatorToken(token), tokenHash);
    return { operator: same && 'operatorId' in operator ? operator : undefined };
  });
}

/** Locks the operator until the end of the transaction: its act commits before any change to the operator. */
export async function lockOperator(tx: Tx, operatorId: string): Promise<Operator | undefined> {
  return tx
    .selectFrom('operator')
    .select(OPERATOR_COLUMNS)
    .where('operator_id', '=', operatorId)
    .forShare()
    .executeTakeFirst();
}

/** @returns the token, shown only once; undefined if the id is taken */
export async function addOperator(
  db: Db,
  operator: Pick<Operator, 'operatorId' | 'name' | 'role'>,
): Promise<string | undefined> {
  const token = newOperatorToken(operator.operatorId);
  const rows = await db
    .insertInto('operator')
    .values({
      operator_id: operator.operatorId,
      name: operator.name,
      role: operator.role,
      token_hash: hashOperatorToken(token),
    })
    .onConflict((conflict) => conflict.column('operator_id').doNothing())
    .returning('operator_id')
    .execute();
  return rows.length === 0 ? undefined : token;
}

/** The caller already has the role of ops. @returns the token, shown only once; undefined if there are operators */
export async function addFirstOperator(
  db: Db,
  { operatorId, name }: Pick<Operator, 'operatorId' | 'name'>,
): Promise<string | undefined> {
  return db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(hashtextextended('first operator', 0))`.execute(tx);
    const existing = await tx.selectFrom('operator').select('operator_id').limit(1).executeTakeFirst();
    if (existing !== undefined) return undefined;
    const token = await addOperator(tx, { operatorId, name, role: 'ADMIN' });
    await writeAudit(tx, {
      operator: operatorId,
      action: 'createOperator',
      subject: operatorId,
      outcome: 'DONE',
      details: { first: true, name },
      requestId: null,
    });
    return token;
  });
}

/**
 * Use it when no administrator has a token. The caller already has the role of ops; the audit log records the bypass.
 * @returns the token, shown only once; undefined if there is no such operator
 */
export async function recoverOperator(db: Db, operatorId: string): Promise<string | undefined> {
  return db.transaction().execute(async (tx) => {
    const before = await tx
      .selectFrom('operator')
      .select(OPERATOR_COLUMNS)
      .where('operator_id', '=', operatorId)
      .forUpdate()
      .executeTakeFirst();
    if (before === undefined) return undefined;
    const token = newOperatorToken(operatorId);
    await tx
      .updateTable('operator')
      .set({ role: 'ADMIN', disabled_at: null, token_hash: hashOperatorToken(token) })
      .where('operator_id', '=', operatorId)
      .execute();
    const details = { roleBefore: before.role, wasDisabled: before.disabledAt !== null };
    await writeAuditOfDatabaseUser(tx, { action: 'recoverOperator', subject: operatorId, details });
    return token;
  });
}

export interface AuditEntry {
  readonly operator: string;
  readonly action: string;
  readonly subject: string | null;
  readonly outcome: 'DONE' | 'REFUSED';
  /** Must not contain secrets. */
  readonly details: Readonly<Record<string, unknown>>;
  readonly requestId: string | null;
}

/** Call it in the transaction of the act. */
export async function writeAudit(db: Db, entry: AuditEntry): Promise<void> {
  const { requestId, details, ...rest } = entry;
  await db
    .insertInto('audit_entry')
    .values({ ...rest, details: JSON.stringify(details), request_id: requestId })
    .execute();
}

/**
 * Records acts without the ops service. The operator is `database:` plus the session's role, which is no operator id.
 */
export async function writeAuditOfDatabaseUser(
  tx: Tx,
  entry: Pick<AuditEntry, 'action' | 'subject' | 'details'>,
): Promise<void> {
  await tx
    .insertInto('audit_entry')
    .values({
      action: entry.action,
      subject: entry.subject,
      details: JSON.stringify(entry.details),
      operator: sql<string>`'database:' || session_user`,
      outcome: 'DONE',
      request_id: null,
    })
    .execute();
}
