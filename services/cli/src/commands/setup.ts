import { migrate } from '@opentill/db/migrate';
import { upsertMerchant } from '@opentill/db/merchants';
import { openDatabase } from '@opentill/db/database';
import { setRolePasswords } from '@opentill/db/roles';
import { SERVICE_SCHEMAS, type ServiceSchema } from '@opentill/db/service-schema';
import { declareTopology } from '@opentill/messaging/declare-topology';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { CliContext, CliErrorCode } from '../context.ts';
import { required, secretsKey } from '../open-ops-database.ts';

/** The merchant that comes from the settings MERCHANT_TOKEN, WEBHOOK_SECRET, CALLBACK_URL, MERCHANT_VERSION. */
const SETTINGS_MERCHANT_ID = 'default';

/**
 * The step before every deployment: migrations, roles with their passwords, the merchant of the settings, the
 * broker's topology with its canary. Does nothing that is done already, so it may run at every start.
 * @throws GatewayError CLI_USAGE and what the database and the broker refuse
 */
export async function setUp(context: CliContext): Promise<void> {
  const adminUrl = required(context, 'DATABASE_ADMIN_URL');
  const applied = await migrate(adminUrl);
  context.print(applied.length === 0 ? 'database: up to date' : `database: applied ${applied.join(', ')}`);
  await setPasswords(context, adminUrl);
  await writeSettingsMerchant(context, adminUrl);
  const amqpUrl = context.env['AMQP_URL'];
  if (amqpUrl) {
    await declareTopology(amqpUrl);
    context.print('broker: queues declared, canary came back');
  }
}

async function setPasswords(context: CliContext, adminUrl: string): Promise<void> {
  const passwords: Partial<Record<ServiceSchema, string>> = {};
  for (const role of SERVICE_SCHEMAS) {
    const password = context.env[`DATABASE_PASSWORD_${role.toUpperCase()}`];
    if (password) passwords[role] = password;
  }
  await setRolePasswords(adminUrl, passwords);
  context.print(
    `database: passwords set for ${Object.keys(passwords).length} of ${SERVICE_SCHEMAS.length} roles`,
  );
}

async function writeSettingsMerchant(context: CliContext, adminUrl: string): Promise<void> {
  const { env } = context;
  const token = env['MERCHANT_TOKEN'];
  if (!token) return;
  const version = env['MERCHANT_VERSION'] || 'V3';
  if (version !== 'V2' && version !== 'V3') {
    throw new GatewayError<CliErrorCode>('CLI_USAGE', 'MERCHANT_VERSION must be V2 or V3.', {
      retryable: false,
    });
  }
  const database = openDatabase({ url: adminUrl, applicationName: 'opentill-setup', poolMax: 1 });
  try {
    await upsertMerchant(database.kysely, secretsKey(context), {
      merchantId: SETTINGS_MERCHANT_ID,
      name: env['MERCHANT_NAME'] || 'Default merchant',
      version,
      token,
      webhookSecret: required(context, 'WEBHOOK_SECRET'),
      callbackUrl: env['CALLBACK_URL'] || null,
      returnOrigins: (env['RETURN_ORIGINS'] ?? '').split(',').filter((origin) => origin !== ''),
    });
  } finally {
    await database.close();
  }
  context.print(`merchant: ${SETTINGS_MERCHANT_ID} (${version}) written from the settings`);
}
