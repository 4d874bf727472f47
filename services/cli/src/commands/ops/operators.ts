import { open, rm } from 'node:fs/promises';
import { addFirstOperator, recoverOperator } from '@opentill/db/operators';
import { OPERATOR_ID_PATTERN } from '@opentill/contracts/ops/fields';
import { OPERATOR_ROLES, type OperatorRole } from '@opentill/contracts/ops/roles';
import type { Typed } from '../../add-command.ts';
import { notFound, usage, type CliContext } from '../../context.ts';
import { withOpsDatabase } from '../../open-database.ts';
import { callOps, openOps, printList } from '../../ops-client.ts';
import { parseOptionalTime } from '../../parse-moment.ts';
import { readLimit, parseEnum } from './read-options.ts';

const OPERATORS_MAX = 1_000;

export interface CreateOperatorOptions {
  readonly id: string;
  readonly name?: string;
  readonly role: string;
  readonly tokenFile?: string;
}

/**
 * Shows the token once, or writes it into a file that only its owner can read. The first operator is written into the
 * database: the ops service accepts no request without an operator.
 */
export async function createOperator(context: CliContext, options: CreateOperatorOptions): Promise<void> {
  const { id: operatorId, name = options.id } = options;
  const role = roleOf(options.role);
  if (!new RegExp(OPERATOR_ID_PATTERN).test(operatorId)) {
    throw usage(`${operatorId} is not an operator id: 1 to 32 lower-case letters, digits, - and _.`);
  }
  await deliverToken(context, options.tokenFile, async () => {
    if (isGiven(context, 'OPS_TOKEN_FILE')) {
      return (await callOps(context, 'createOperator', { operatorId, name, role })).token;
    }
    if (role !== 'ADMIN') throw usage('The first operator must be an administrator: --role ADMIN.');
    const token = await withOpsDatabase(context, (db) => addFirstOperator(db, { operatorId, name }));
    if (token === undefined)
      throw usage('Operators already exist: set OPS_URL and OPS_TOKEN_FILE and run this as one of them.');
    return token;
  });
}

/** Use it when no operator who could do it has a token. The audit log names the database role as the operator. */
export async function recoverAdministrator(
  context: CliContext,
  operatorId: string,
  options: { readonly tokenFile?: string },
): Promise<void> {
  await deliverToken(context, options.tokenFile, async () => {
    const token = await withOpsDatabase(context, (db) => recoverOperator(db, operatorId));
    if (token !== undefined) return token;
    throw notFound(`There is no operator ${operatorId}.`);
  });
}

export async function rotateOperator(
  context: CliContext,
  operatorId: string | undefined,
  options: { readonly tokenFile?: string },
): Promise<void> {
  const ops = await openOps(context);
  await deliverToken(context, options.tokenFile, async () => {
    const answer =
      operatorId === undefined
        ? await ops.call('rotateMyToken', {})
        : await ops.call('rotateOperatorToken', { operatorId });
    return answer.token;
  });
}

export async function listOperators(context: CliContext): Promise<void> {
  await printList(context, 'listOperators', {}, OPERATORS_MAX, (o) => [
    o.operatorId,
    o.role,
    o.disabledAt === null ? 'enabled' : `disabled since ${o.disabledAt}`,
    o.name,
  ]);
}

export interface SetOperatorOptions {
  readonly name?: string;
  readonly role?: string;
  readonly enabled?: boolean;
  readonly disabled?: boolean;
}

export async function setOperator(
  context: CliContext,
  operatorId: string,
  options: SetOperatorOptions,
): Promise<void> {
  const { name, role, enabled, disabled } = options;
  if (enabled === true && disabled === true) throw usage('Give either --enabled or --disabled.');
  const isDisabled = disabled === true ? true : enabled === true ? false : undefined;
  const change = { name, role: role === undefined ? undefined : roleOf(role), disabled: isDisabled };
  if (Object.values(change).every((value) => value === undefined))
    throw usage('Give at least one change: opentill operator set --help.');
  const o = await callOps(context, 'setOperator', { operatorId, ...change });
  context.print(
    `${o.operatorId} is ${o.role}, ${o.disabledAt === null ? 'enabled' : 'disabled'}; in force at once.`,
  );
}

export async function printAudit(
  context: CliContext,
  options: Typed<'operator' | 'action' | 'subject' | 'since'> & { refused?: boolean; limit: string },
): Promise<void> {
  const { operator, action, subject, refused, since, limit } = options;
  const filter = {
    operator,
    action,
    subject,
    outcome: refused === true ? ('REFUSED' as const) : undefined,
    from: parseOptionalTime(context.clock.now(), '--since', since),
  };
  await printList(context, 'listAudit', filter, readLimit(limit), (e) => [
    e.at,
    e.operator,
    e.action,
    e.outcome,
    e.subject,
    JSON.stringify(e.details),
  ]);
}

/** Creates the empty file first, so that no token is made that cannot be stored. */
async function deliverToken(
  context: CliContext,
  path: string | undefined,
  make: () => Promise<string>,
): Promise<void> {
  if (path === undefined) {
    context.print(`token  ${await make()}`);
    context.print(
      'It is shown once. Store it in a file that only you can read, and name the file in OPS_TOKEN_FILE.',
    );
    return;
  }
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(`${await make()}\n`);
    await file.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  context.print(`The token is in ${path}.`);
}

function isGiven({ env }: CliContext, name: string): boolean {
  return env[name] !== undefined && env[name] !== '';
}

function roleOf(text: string): OperatorRole {
  return parseEnum('--role', text, OPERATOR_ROLES);
}
