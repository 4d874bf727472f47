import { openDatabase, type Database } from '@opentill/db/database';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { CliContext, CliErrorCode } from './context.ts';

/** Opens the database with the operators' role, runs `work` and closes it again. */
export async function withOpsDatabase<T>(
  context: CliContext,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const url = required(context, 'OPS_DATABASE_URL');
  const database = openDatabase({ url, applicationName: 'opentill-cli', poolMax: 2 });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/**
 * The value of an environment variable that a command can't do without.
 * @throws GatewayError CLI_USAGE
 */
export function required(context: CliContext, name: string): string {
  const value = context.env[name];
  if (value === undefined || value === '') {
    throw new GatewayError<CliErrorCode>('CLI_USAGE', `The environment variable ${name} is not set.`, {
      retryable: false,
    });
  }
  return value;
}

/** The key that seals merchants' secrets: 32 bytes in base64. */
export function secretsKey(context: CliContext): Buffer {
  const key = Buffer.from(required(context, 'SECRETS_KEY'), 'base64');
  if (key.length !== 32) {
    throw new GatewayError<CliErrorCode>(
      'CLI_USAGE',
      'SECRETS_KEY must be 32 bytes in base64: openssl rand -base64 32',
      {
        retryable: false,
      },
    );
  }
  return key;
}
