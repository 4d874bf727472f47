import { existsSync, writeFileSync } from 'node:fs';
import { openDatabase } from '@opentill/db/database';
import { hashOperatorToken, newOperatorToken } from '@opentill/db/operators';

const OPERATOR = { operator_id: 'local', name: 'Local operator', role: 'ADMIN' } as const;

/**
 * Makes the operator of the local profile, who may do everything, with a token in a file for its owner alone. A kept
 * database has him already; where the file was lost, or never written by a start cut short, he gets a new token.
 */
export async function prepareOperator(adminUrl: string, tokenFile: string): Promise<void> {
  if (existsSync(tokenFile)) return;
  const token = newOperatorToken(OPERATOR.operator_id);
  const database = openDatabase({ url: adminUrl, applicationName: 'opentill-local', poolMax: 1 });
  try {
    await database.kysely
      .insertInto('operator')
      .values({ ...OPERATOR, token_hash: hashOperatorToken(token) })
      .onConflict((conflict) =>
        conflict.column('operator_id').doUpdateSet({ token_hash: hashOperatorToken(token) }),
      )
      .execute();
  } finally {
    await database.close();
  }
  writeFileSync(tokenFile, `${token}\n`, { mode: 0o600 });
}
