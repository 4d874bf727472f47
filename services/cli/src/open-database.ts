import { openDatabase, type DatabaseOptions, type Db } from '@opentill/db/database';
import { requiredVariable } from './config.ts';
import { usage, type CliContext } from './context.ts';

export async function withDatabase<T>(options: DatabaseOptions, work: (db: Db) => Promise<T>): Promise<T> {
  const database = openDatabase(options);
  try {
    return await work(database.kysely);
  } finally {
    await database.close();
  }
}

export function withOpsDatabase<T>(context: CliContext, work: (db: Db) => Promise<T>): Promise<T> {
  const url = requiredVariable(context, 'OPS_DATABASE_URL');
  return withDatabase({ url, applicationName: 'opentill-cli', poolMax: 2 }, work);
}

/** Only the owner may write what a restore writes. */
export function withOwnerDatabase<T>(context: CliContext, work: (db: Db) => Promise<T>): Promise<T> {
  const url = requiredVariable(context, 'DATABASE_ADMIN_URL');
  return withDatabase({ url, applicationName: 'opentill-restore', poolMax: 2 }, work);
}

export function parseKey(base64: string): Buffer {
  const key = Buffer.from(base64, 'base64');
  if (key.length !== 32) throw usage('SECRETS_KEY must be 32 bytes in base64: openssl rand -base64 32');
  return key;
}
