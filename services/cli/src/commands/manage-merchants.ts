import { randomBytes } from 'node:crypto';
import { GatewayError } from '@opentill/domain/gateway-error';
import { listMerchants, rotateToken, rotateWebhookSecret, upsertMerchant } from '@opentill/db/merchants';
import type { CliContext, CliErrorCode } from '../context.ts';
import { secretsKey, withOpsDatabase } from '../open-ops-database.ts';
import { requireHttpUrl, requireOrigin } from '../require-url.ts';
import { SETTINGS_MERCHANT_ID } from './settings-merchant.ts';

const SECRET_BYTES = 32;
const MERCHANT_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Creates a merchant and shows its token and webhook secret, once. */
export async function createMerchant(
  context: CliContext,
  options: {
    readonly id: string;
    readonly name?: string;
    readonly version: string;
    readonly callbackUrl?: string;
    readonly returnOrigin?: readonly string[];
  },
): Promise<void> {
  if (options.version !== 'V2' && options.version !== 'V3') {
    throw usage('--merchant-version must be V2 or V3.');
  }
  if (!MERCHANT_ID.test(options.id)) {
    throw usage(`${options.id} is no merchant id: 1 to 64 letters, digits, - and _.`);
  }
  const origins = options.returnOrigin ?? [];
  if (options.callbackUrl !== undefined) requireHttpUrl('--callback-url', options.callbackUrl);
  for (const origin of origins) requireOrigin('--return-origin', origin);
  const version = options.version;
  const token = randomBytes(SECRET_BYTES).toString('hex');
  const webhookSecret = randomBytes(SECRET_BYTES).toString('hex');
  await withOpsDatabase(context, async ({ kysely }) => {
    if ((await listMerchants(kysely)).some((m) => m.merchantId === options.id)) {
      throw usage(`Merchant ${options.id} exists already.`);
    }
    await upsertMerchant(kysely, secretsKey(context), {
      merchantId: options.id,
      name: options.name ?? options.id,
      version,
      token,
      webhookSecret,
      callbackUrl: options.callbackUrl ?? null,
      returnOrigins: origins,
    });
  });
  context.print(`merchant        ${options.id}`);
  context.print(`token           ${token}`);
  context.print(`webhook secret  ${webhookSecret}`);
  context.print('Both are shown once. The token signs requests, the webhook secret verifies callbacks.');
}

/** Lists the merchants without their secrets. */
export async function printMerchants(context: CliContext): Promise<void> {
  await withOpsDatabase(context, async ({ kysely }) => {
    for (const m of await listMerchants(kysely)) {
      context.print(
        `${m.merchantId}\t${m.version}\t${m.enabled ? 'enabled' : 'disabled'}\t${m.callbackUrl ?? '-'}\t${m.name}`,
      );
    }
  });
}

/** Replaces a merchant's token or webhook secret and shows the new one, once. The old one stops working at once. */
export async function rotateMerchant(
  context: CliContext,
  options: { readonly id: string; readonly what: string },
): Promise<void> {
  if (options.what !== 'token' && options.what !== 'webhook-secret') {
    throw usage('Say what to rotate: token or webhook-secret.');
  }
  if (options.id === SETTINGS_MERCHANT_ID) {
    const variable = options.what === 'token' ? 'MERCHANT_TOKEN' : 'WEBHOOK_SECRET';
    throw usage(`The settings say the ${options.what} of ${options.id}: change ${variable} and run setup.`);
  }
  const secret = await withOpsDatabase(context, async ({ kysely }) =>
    options.what === 'token'
      ? rotateToken(kysely, secretsKey(context), options.id)
      : (await rotateWebhookSecret(kysely, secretsKey(context), options.id)).secret,
  );
  context.print(`new ${options.what} of ${options.id}: ${secret}`);
}

function usage(message: string): GatewayError<CliErrorCode> {
  return new GatewayError('CLI_USAGE', message, { retryable: false });
}
