import { existsSync, writeFileSync } from 'node:fs';
import { hashOperatorToken, newOperatorToken } from '@opentill/db/operators';
import { openStartDatabase } from './open-start-database.ts';

const OPERATOR = { operator_id: 'local', name: 'Local operator', role: 'ADMIN' } as const;

export async function prepareOperator(adminUrl: string, tokenFile: string): Promise<void> {
  if (existsSync(tokenFile)) return;
  const token = newOperatorToken(OPERATOR.operator_id);
  const database = openStartDatabase(adminUrl);
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
