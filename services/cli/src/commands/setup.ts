import { SETTINGS_MERCHANT_ID } from '@opentill/contracts/ops/fields';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { networkKindOf } from '@opentill/contracts/network-kind';
import { urlPerHost } from '@opentill/contracts/server-url';
import { migrate } from '@opentill/db/migrate';
import type { DatabaseOptions } from '@opentill/db/database';
import { requireMerchantToken } from '@opentill/db/merchants';
import { findAwaitedChains, registerChains } from '@opentill/db/registered-chains';
import { setRolePasswords } from '@opentill/db/roles';
import { SERVICE_ROLES } from '@opentill/db/service-schema';
import type { ServiceName } from '@opentill/contracts/event-catalog';
import { declareTopology } from '@opentill/messaging/declare-topology';
import { BROKER_SERVICES, writeBrokerUsers } from '@opentill/messaging/write-broker-users';
import { isRetryable } from '@opentill/domain/gateway-error';
import { readConfig } from '@opentill/runtime/config';
import { readNetworks } from '../read-networks.ts';
import { writeSettingsMerchant, type SettingsMerchant } from '../store/settings-merchant.ts';
import { usage, type CliContext } from '../context.ts';
import {
  brokerPasswordVariable,
  passwordVariable,
  SETUP_CONFIG_SCHEMA,
  type SetupEnvironment,
} from '../config.ts';
import { parseKey, withDatabase } from '../open-database.ts';
import { requireOrigin } from '../require-url.ts';
import { writeHotWallets } from './write-hot-wallets.ts';

/** Idempotent, so it may run at every start. */
export async function setUp(context: CliContext): Promise<void> {
  const settings = readConfig<SetupEnvironment>(SETUP_CONFIG_SCHEMA, context.env);
  const merchant = settingsMerchant(settings);
  const brokerPasswords = readBrokerPasswords(settings);
  const { DATABASE_ADMIN_URL: adminUrl, AMQP_URL: amqpUrl, AMQP_MANAGEMENT_URL: managementUrl } = settings;
  const applied = await migrate(adminUrl);
  context.print(applied.length === 0 ? 'database: up to date' : `database: applied ${applied.join(', ')}`);
  const networks =
    settings.NETWORKS_FILE === undefined ? [] : await readNetworks(context, settings.NETWORKS_FILE);
  const kind = networkKindOf(networks); // before a chain is registered, which cannot be taken back
  await setPasswords(context, settings);
  const database = { url: adminUrl, applicationName: 'opentill-setup', poolMax: 1 };
  if (merchant !== undefined)
    context.print(`merchant: ${await withDatabase(database, (db) => writeSettingsMerchant(db, merchant))}`);
  if (networks.length > 0) await setChains(context, database, networks);
  if (settings.PUBLIC_KEYS_FILE !== undefined)
    context.print(`hot wallets: ${await writeHotWallets(database, settings.PUBLIC_KEYS_FILE, kind)}`);
  if (managementUrl !== undefined) {
    await writeUsers(managementUrl, brokerPasswords, virtualHostOf(amqpUrl));
    context.print(`broker: users written for ${Object.keys(brokerPasswords).length} services`);
  }
  if (amqpUrl !== undefined) {
    await declareTopology(amqpUrl);
    context.print('broker: queues declared, canary returned');
  }
}

/** A chain that is removed or disabled keeps its rows, but no scanner sees its payments. */
async function setChains(
  context: CliContext,
  database: DatabaseOptions,
  networks: readonly NetworkConfig[],
): Promise<void> {
  const enabled = networks.filter((network) => network.enabled);
  await withDatabase(database, async (db) => {
    const added = await registerChains(db, enabled);
    context.print(`chains: ${added.length === 0 ? 'known' : `added ${added.join(', ')}`}`);
    for (const chain of await findAwaitedChains(db))
      if (!enabled.some((network) => network.chain === chain))
        context.print(
          `chains: ${chain} has open orders, payouts or transactions and is not enabled in the networks file. ` +
            'They wait, and payments are not seen. Enable it until they have ended.',
        );
  });
}

function passwordsOf<N extends string>(
  settings: SetupEnvironment,
  names: readonly N[],
  variableOf: (name: N) => `${'DATABASE' | 'AMQP'}_PASSWORD_${string}`,
): Partial<Record<N, string>> {
  const passwords: Partial<Record<N, string>> = {};
  for (const name of names) {
    const password = settings[variableOf(name)];
    if (password !== undefined) passwords[name] = password;
  }
  return passwords;
}

async function setPasswords(context: CliContext, settings: SetupEnvironment): Promise<void> {
  const passwords = passwordsOf(settings, SERVICE_ROLES, passwordVariable);
  await setRolePasswords(settings.DATABASE_ADMIN_URL, passwords);
  context.print(
    `database: passwords set for ${Object.keys(passwords).length} of ${SERVICE_ROLES.length} roles`,
  );
}

function readBrokerPasswords(settings: SetupEnvironment): Partial<Record<ServiceName, string>> {
  const passwords = passwordsOf(settings, BROKER_SERVICES, brokerPasswordVariable);
  if (Object.keys(passwords).length > 0 && settings.AMQP_MANAGEMENT_URL === undefined) {
    throw usage('AMQP_PASSWORD_… need AMQP_MANAGEMENT_URL.');
  }
  return passwords;
}

/** By the first node of the list whose API answers. @throws the failure of the last one */
async function writeUsers(
  managementUrl: string,
  passwords: Partial<Record<ServiceName, string>>,
  virtualHost: string,
): Promise<void> {
  const urls = urlPerHost(managementUrl);
  for (const [place, url] of urls.entries()) {
    try {
      return await writeBrokerUsers(url, passwords, virtualHost);
    } catch (error) {
      if (!isRetryable(error) || place === urls.length - 1) throw error;
    }
  }
}

/** Returns `/` unless the URL names another (the path `/` names it too). */
function virtualHostOf(amqpUrl: string | undefined): string {
  const [url] = amqpUrl === undefined ? [] : urlPerHost(amqpUrl);
  const path = url === undefined ? '' : new URL(url).pathname.slice(1);
  return path === '' ? '/' : decodeURIComponent(path);
}

/** Validated before any change; undefined without MERCHANT_TOKEN. */
function settingsMerchant(settings: SetupEnvironment): SettingsMerchant | undefined {
  const { MERCHANT_TOKEN: token, WEBHOOK_SECRET: webhookSecret, SECRETS_KEY: key } = settings;
  if (token === undefined) return undefined;
  if (webhookSecret === undefined || key === undefined) {
    throw usage('MERCHANT_TOKEN needs WEBHOOK_SECRET and SECRETS_KEY.');
  }
  requireMerchantToken('MERCHANT_TOKEN', token);
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
