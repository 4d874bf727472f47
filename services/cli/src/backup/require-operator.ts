import { findOperatorsByTokens } from '@opentill/db/operators';
import type { OperatorRole } from '@opentill/contracts/ops/roles';
import type { Db } from '@opentill/db/database';
import { readPrivateFile } from '@opentill/wallet/read-private-file';
import { requiredVariable } from '../config.ts';
import { usage, type CliContext } from '../context.ts';

/** May assign a payment. Only administrators release a wallet, as for every halt of this kind. */
export const DECIDING_ROLES = ['FINANCE', 'ADMIN'] as const;
export const RELEASING_ROLES = ['ADMIN'] as const;

/** Reads the operator of OPS_TOKEN_FILE from the database: the ops service may be down. */
export async function requireOperator(
  context: CliContext,
  db: Db,
  roles: readonly OperatorRole[],
): Promise<string> {
  const token = (await readPrivateFile(requiredVariable(context, 'OPS_TOKEN_FILE'))).trim();
  const [found] = await findOperatorsByTokens(db, [token]);
  const operator = found?.operator;
  if (operator !== undefined && operator.disabledAt === null && roles.includes(operator.role))
    return operator.operatorId;
  throw usage(
    `OPS_TOKEN_FILE must contain the token of an enabled operator with the role ${roles.join(' or ')}.`,
  );
}
