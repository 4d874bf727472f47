import { SETTINGS_MERCHANT_ID } from '@opentill/contracts/ops/fields';
import { migrate } from '@opentill/db/migrate';
import { writeSettingsMerchant, type SettingsMerchant } from './settings-merchant.ts';
import { openDatabase } from '@opentill/db/database';
import { setRolePasswords } from '@opentill/db/roles';
import { SERVICE_SCHEMAS, type ServiceSchema } from '@opentill/db/service-schema';
import { declareTopology } from '@opentill/messaging/declare-topology';
import { GatewayError } from '@opentill/domain/gateway-error';
import { readConfig } from '@opentill/runtime/config';
import type { CliContext, CliErrorCode } from '../context.ts';
import { passwordVariable, SETUP_CONFIG_SCHEMA, type SetupEnvironment } from '../config.ts';
import { parseKey } from '../open-ops-database.ts';
import { requireOrigin } from '../require-url.ts';
import { writeHotWallets } from './write-hot-wallets.ts';

/**
 * The step before every deployment: migrations, roles with their passwords, the merchant of the settings, the hot
 * wallets of the public key file, the broker's topology with its canary. Does nothing that is done already, so it may run at every start.
 * @throws GatewayError CONFIG_INVALID, CLI_USAGE and what the database and the broker refuse
 */
export async function setUp(context: CliContext): Promise<void> {
  const settings = readConfig<SetupEnvironment>(SETUP_CONFIG_SCHEMA, context.env);
  const merchant = settingsMerchant(settings);
  const { DATABASE_ADMIN_URL: adminUrl, AMQP_URL: amqpUrl } = settings;
  const applied = await migrate(adminUrl);
  context.print(applied.length === 0 ? 'database: up to date' : `database: applied ${applied.join(', ')}`);
  await setPasswords(context, settings);
  if (merchant !== undefined) await writeMerchant(context, adminUrl, merchant);
  if (settings.PUBLIC_KEYS_FILE !== undefined) {
    context.print(`hot wallets: ${await writeHotWallets(adminUrl, settings.PUBLIC_KEYS_FILE)}`);
  }
  if (amqpUrl !== undefined) {
    await declareTopology(amqpUrl);
    context.print('broker: queues declared, canary came back');
  }
}

async function setPasswords(context: CliContext, settings: SetupEnvironment): Promise<void> {
  const passwords: Partial<Record<ServiceSchema, string>> = {};
  for (const role of SERVICE_SCHEMAS) {
    const password = settings[passwordVariable(role)];
    if (password !== undefined) passwords[role] = password;
  }
  await setRolePasswords(settings.DATABASE_ADMIN_URL, passwords);
  context.print(
    `database: passwords set for ${Object.keys(passwords).length} of ${SERVICE_SCHEMAS.length} roles`,
  );
}

/** The merchant that the settings describe, checked before anything is touched; undefined without MERCHANT_TOKEN. */
function settingsMerchant(settings: SetupEnvironment): SettingsMerchant | undefined {
  const { MERCHANT_TOKEN: token, WEBHOOK_SECRET: webhookSecret, SECRETS_KEY: key } = settings;
  if (token === undefined) return undefined;
  if (webhookSecret === undefined || key === undefined) {
    throw new GatewayError<CliErrorCode>(
      'CLI_USAGE',
      'MERCHANT_TOKEN needs WEBHOOK_SECRET and SECRETS_KEY.',
      {
        retryable: false,
      },
    );
  }
  for (const origin of settings.RETURN_ORIGINS ?? []) requireOrigin('RETURN_ORIGINS', origin);
  return {
    merchantId: SETTINGS_MERCHANT_ID,
    key: parseKey(key),
    token,
    webhookSecret,
    name: settings.MERCHANT_NAME,
    version: settings.MERCHANT_VERSION,
    callbackUrl: settings.CALLBACK_URL,
    returnOrigins: settings.RETURN_ORIGINS,
  };
}

async function writeMerchant(
  context: CliContext,
  adminUrl: string,
  merchant: SettingsMerchant,
): Promise<void> {
  const database = openDatabase({ url: adminUrl, applicationName: 'opentill-setup', poolMax: 1 });
  try {
    context.print(`merchant: ${await writeSettingsMerchant(database.kysely, merchant)}`);
  } finally {
    await database.close();
  }
}
