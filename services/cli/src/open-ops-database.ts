import { openDatabase, type Database } from '@opentill/db/database';
import { requiredVariable } from './config.ts';
import { usage, type CliContext } from './context.ts';

/** Opens the database with the operators' role, runs `work` and closes it again. */
export async function withOpsDatabase<T>(
  context: CliContext,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const url = requiredVariable(context, 'OPS_DATABASE_URL');
  const database = openDatabase({ url, applicationName: 'opentill-cli', poolMax: 2 });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/**
 * The key that seals merchants' secrets: 32 bytes in base64.
 * @throws GatewayError CLI_USAGE
 */
export function parseKey(base64: string): Buffer {
  const key = Buffer.from(base64, 'base64');
  if (key.length !== 32) {
    throw usage('SECRETS_KEY must be 32 bytes in base64: openssl rand -base64 32');
  }
  return key;
}
