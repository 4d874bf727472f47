import { randomBytes } from 'node:crypto';
import { checkLogo } from '@opentill/contracts/logo/check-logo';
import type { OpsAnswer } from '@opentill/contracts/ops/catalog';
import { SETTINGS_MERCHANT_ID } from '@opentill/contracts/ops/fields';
import { endSecretChange, rotateToken, rotateWebhookSecret, upsertMerchant } from '@opentill/db/merchants';
import type { Handlers } from '../handlers.ts';
import { keyAfter, PAGE_SIZE, pageOf } from '../page.ts';
import { notFound, opsError } from '../ops-error.ts';
import { time, timeOrNull } from '../format.ts';
import { enableEndpoint, findEndpoints, type EndpointRow } from '../store/callbacks.ts';
import {
  findMerchants,
  readMerchant,
  updateMerchant,
  type MerchantLogo,
  type MerchantRow,
} from '../store/merchants.ts';
import { lockName } from '../store/operators.ts';
import type { OpsDeps } from './ops-deps.ts';

type MerchantOperation =
  | 'listMerchants'
  | 'getMerchant'
  | 'createMerchant'
  | 'setMerchant'
  | 'rotateToken'
  | 'rotateWebhookSecret'
  | 'listCallbackEndpoints'
  | 'enableCallbackEndpoint';

const SECRET_BYTES = 32;

export function merchantHandlers({ db, secretsKey }: OpsDeps): Pick<Handlers, MerchantOperation> {
  return {
    async listMerchants({ limit = PAGE_SIZE, cursor }) {
      const rows = await findMerchants(db, keyAfter(cursor, 'name'), limit + 1);
      return pageOf(rows, limit, (row) => row.merchantId, showMerchant);
    },
    async getMerchant({ merchantId }) {
      return showMerchant(required(await readMerchant(db, merchantId), merchantId));
    },
    async createMerchant({ tx }, { merchantId, version = 'V3', name, callbackUrl, returnOrigins }) {
      requireOrigins(returnOrigins);
      requireHttpUrl(callbackUrl);
      await lockName(tx, `merchant:${merchantId}`);
      if ((await readMerchant(tx, merchantId)) !== undefined) {
        throw opsError('EXISTS', `Merchant ${merchantId} already exists.`);
      }
      const secrets = { token: newSecret(), webhookSecret: newSecret() };
      await upsertMerchant(tx, secretsKey, {
        merchantId,
        name: name ?? merchantId,
        version,
        ...secrets,
        callbackUrl: callbackUrl ?? null,
        ...(returnOrigins && { returnOrigins }),
      });
      return { answer: { merchantId, ...secrets }, subject: merchantId };
    },
    async setMerchant({ tx }, { merchantId, logo: givenLogo, ...change }) {
      if (Object.keys(change).length === 0 && givenLogo === undefined)
        throw opsError('INPUT_INVALID', 'Give at least one setting to change.');
      requireOrigins(change.returnOrigins);
      requireHttpUrl(change.callbackUrl);
      requireHttpUrl(change.supportUrl, 'support URL');
      requireHttpUrl(change.shopUrl, 'shop URL');
      const logo = readLogo(givenLogo);
      if (!(await updateMerchant(tx, merchantId, change, logo))) throw notFound(`merchant ${merchantId}`);
      const answer = showMerchant(required(await readMerchant(tx, merchantId), merchantId));
      // The audit entry names the logo by its hash.
      return { answer, ...(givenLogo !== undefined && { details: { logo: answer.logoHash } }) };
    },
    async rotateToken({ tx }, { merchantId }) {
      requireRotatable(merchantId, 'MERCHANT_TOKEN');
      required(await readMerchant(tx, merchantId), merchantId);
      return { answer: { merchantId, token: await rotateToken(tx, secretsKey, merchantId) } };
    },
    async rotateWebhookSecret({ tx }, { merchantId, action, overlapSeconds }) {
      requireRotatable(merchantId, 'WEBHOOK_SECRET');
      required(await readMerchant(tx, merchantId), merchantId);
      if (action === 'ROTATE') {
        const { secret, switchAt } = await rotateWebhookSecret(tx, secretsKey, merchantId, overlapSeconds);
        return { answer: { merchantId, webhookSecret: secret, switchAt: timeOrNull(switchAt) } };
      }
      if (overlapSeconds !== undefined)
        throw opsError('INPUT_INVALID', 'overlapSeconds is allowed only with ROTATE.');
      await endSecretChange(tx, merchantId, action);
      return { answer: { merchantId, webhookSecret: null, switchAt: null } };
    },
    async listCallbackEndpoints({ limit = PAGE_SIZE, cursor, merchantId }) {
      const rows = await findEndpoints(db, merchantId, keyAfter(cursor, 'name'), limit + 1);
      return pageOf(rows, limit, (row) => row.merchantId, showEndpoint);
    },
    async enableCallbackEndpoint({ tx }, { merchantId }) {
      if (!(await enableEndpoint(tx, merchantId))) throw notFound(`merchant ${merchantId}`);
      const [endpoint] = await findEndpoints(tx, merchantId, undefined, 1);
      if (endpoint === undefined) throw notFound(`merchant ${merchantId}`);
      return { answer: showEndpoint(endpoint) };
    },
  };
}

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('hex');
}

function required(row: MerchantRow | undefined, merchantId: string): MerchantRow {
  if (row === undefined) throw notFound(`merchant ${merchantId}`);
  return row;
}

/** Rejects the merchant of the settings: the next setup would restore the secrets from its settings. */
function requireRotatable(merchantId: string, variable: string): void {
  if (merchantId !== SETTINGS_MERCHANT_ID) return;
  throw opsError(
    'UNPROCESSABLE',
    `The settings define the secrets of ${merchantId}: change ${variable} and run setup.`,
  );
}

/** Rejects a path, trailing slash or default port, because the origin of a returnUrl has none. */
function requireOrigins(origins: readonly string[] | undefined): void {
  for (const origin of origins ?? []) {
    const url = URL.canParse(origin) ? new URL(origin) : undefined;
    const isHttp = url !== undefined && /^https?:$/.test(url.protocol);
    if (isHttp && url.origin === origin) continue;
    const suggestion = isHttp ? `. Did you mean ${url.origin}?` : ', for example https://shop.example.';
    throw opsError('UNPROCESSABLE', `A return origin must be an origin, not ${origin}${suggestion}`);
  }
}

/** Undefined: unchanged. Null: none. */
function readLogo(base64: string | null | undefined): MerchantLogo | null | undefined {
  if (base64 === undefined || base64 === null) return base64;
  const bytes = Buffer.from(base64, 'base64');
  const checked = checkLogo(bytes);
  if ('problem' in checked) throw opsError('UNPROCESSABLE', `The logo ${checked.problem}.`);
  return { bytes, type: checked.type };
}

function requireHttpUrl(text: string | null | undefined, name = 'callback URL'): void {
  if (text === undefined || text === null) return;
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return;
  throw opsError('UNPROCESSABLE', `The ${name} must be an http or https URL.`);
}

function showMerchant(row: MerchantRow): OpsAnswer<'getMerchant'> {
  return {
    ...row,
    webhookSecretSwitchAt: timeOrNull(row.webhookSecretSwitchAt),
    endpointSince: timeOrNull(row.endpointSince),
    createdAt: time(row.createdAt),
    updatedAt: time(row.updatedAt),
  };
}

function showEndpoint(row: EndpointRow): OpsAnswer<'listCallbackEndpoints'> {
  return {
    ...row,
    openedAt: timeOrNull(row.openedAt),
    probeAt: timeOrNull(row.probeAt),
    disabledAt: timeOrNull(row.disabledAt),
    lastFailedAt: timeOrNull(row.lastFailedAt),
  };
}
