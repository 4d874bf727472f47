import { timingSafeEqual } from 'node:crypto';
import { hashOperatorToken, operatorIdOfToken } from '@opentill/db/operators';
import type { OperatorRole } from '@opentill/contracts/ops/roles';
import type { Db } from '@opentill/db/database';
import { GatewayError } from '@opentill/domain/gateway-error';
import { readClosedFile } from '@opentill/wallet/read-closed-file';
import { requiredVariable } from '../config.ts';
import type { CliContext, CliErrorCode } from '../context.ts';

/** Who may say whose a payment was; wallets are released by administrators, as from every halt of this kind. */
export const MAY_DECIDE = ['FINANCE', 'ADMIN'] as const;
export const MAY_RELEASE = ['ADMIN'] as const;

/**
 * The operator whose token is in OPS_TOKEN_FILE, asked of the database itself: the services may not run.
 * @throws GatewayError CLI_USAGE, CONFIG_INVALID, or a WalletErrorCode of the file
 */
export async function requireOperator(
  context: CliContext,
  db: Db,
  roles: readonly OperatorRole[],
): Promise<string> {
  const token = (await readClosedFile(requiredVariable(context, 'OPS_TOKEN_FILE'))).trim();
  const operator = await db
    .selectFrom('operator')
    .select(['operator_id', 'token_hash'])
    .where('operator_id', '=', operatorIdOfToken(token) ?? '')
    .where('role', 'in', roles)
    .where('disabled_at', 'is', null)
    .executeTakeFirst();
  if (operator !== undefined && timingSafeEqual(hashOperatorToken(token), operator.token_hash))
    return operator.operator_id;
  throw new GatewayError<CliErrorCode>(
    'CLI_USAGE',
    `OPS_TOKEN_FILE must hold the token of an operator with the role ${roles.join(' or ')} who is not disabled.`,
    { retryable: false },
  );
}
