import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Db } from './database.ts';
import { sealSecret, tokenAad, webhookSecretAad } from './sealed-secret.ts';

/** - `MERCHANT_NOT_FOUND`: no merchant of this id. Permanent. */
export type MerchantErrorCode = 'MERCHANT_NOT_FOUND';

export interface MerchantSettings {
  /** 1 to 64 letters, digits, `_`, `-`. */
  readonly merchantId: string;
  readonly name: string;
  readonly version: 'V2' | 'V3';
  /** In clear; sealed before it is stored. */
  readonly token: string;
  /** In clear; sealed before it is stored. */
  readonly webhookSecret: string;
  readonly signVersion?: 1 | 2;
  readonly callbackUrl?: string | null;
  readonly returnOrigins?: readonly string[];
  readonly orderTtlSeconds?: number;
  readonly underpaymentToleranceBps?: number;
  readonly lateGraceSeconds?: number;
  readonly notifyReverted?: boolean;
  readonly rateLimits?: Readonly<Record<string, unknown>>;
  readonly enabled?: boolean;
}

/** A merchant without its secrets. */
export interface MerchantSummary {
  readonly merchantId: string;
  readonly name: string;
  readonly version: 'V2' | 'V3';
  readonly callbackUrl: string | null;
  readonly enabled: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Creates a merchant, or changes an existing one to these settings; a setting left out keeps its value or default. */
export async function upsertMerchant(db: Db, secretsKey: Buffer, merchant: MerchantSettings): Promise<void> {
  const { merchantId } = merchant;
  const given = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
  const settings = {
    name: merchant.name,
    version: merchant.version,
    token_sealed: sealSecret(secretsKey, merchant.token, tokenAad(merchantId)),
    webhook_secret_sealed: sealSecret(secretsKey, merchant.webhookSecret, webhookSecretAad(merchantId)),
    ...given({
      sign_version: merchant.signVersion,
      callback_url: merchant.callbackUrl,
      return_origins: merchant.returnOrigins && [...merchant.returnOrigins],
      order_ttl_seconds: merchant.orderTtlSeconds,
      underpayment_tolerance_bps: merchant.underpaymentToleranceBps,
      late_grace_seconds: merchant.lateGraceSeconds,
      notify_reverted: merchant.notifyReverted,
      rate_limits: merchant.rateLimits && JSON.stringify(merchant.rateLimits),
      enabled: merchant.enabled,
    }),
  };
  await db
    .insertInto('merchant')
    .values({ merchant_id: merchantId, ...settings })
    .onConflict((conflict) =>
      conflict.column('merchant_id').doUpdateSet({ ...settings, updated_at: sql`now()` }),
    )
    .execute();
}

/** Every merchant by id, without secrets. */
export async function listMerchants(db: Db): Promise<readonly MerchantSummary[]> {
  return db
    .selectFrom('merchant')
    .select([
      'merchant_id as merchantId',
      'name',
      'version',
      'callback_url as callbackUrl',
      'enabled',
      'created_at as createdAt',
      'updated_at as updatedAt',
    ])
    .orderBy('merchant_id')
    .execute();
}

/** Gives a merchant a new token. @returns it in clear, the only time it is seen. Throws MERCHANT_NOT_FOUND. */
export async function rotateToken(db: Db, secretsKey: Buffer, merchantId: string): Promise<string> {
  const token = newSecret();
  await change(db, merchantId, { token_sealed: sealSecret(secretsKey, token, tokenAad(merchantId)) });
  return token;
}

/** Gives a merchant a new webhook secret. @returns it in clear, the only time it is seen. Throws MERCHANT_NOT_FOUND. */
export async function rotateWebhookSecret(db: Db, secretsKey: Buffer, merchantId: string): Promise<string> {
  const secret = newSecret();
  await change(db, merchantId, {
    webhook_secret_sealed: sealSecret(secretsKey, secret, webhookSecretAad(merchantId)),
  });
  return secret;
}

function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

async function change(
  db: Db,
  merchantId: string,
  fields: { token_sealed: Buffer } | { webhook_secret_sealed: Buffer },
): Promise<void> {
  const changed = await db
    .updateTable('merchant')
    .set({ ...fields, updated_at: sql`now()` })
    .where('merchant_id', '=', merchantId)
    .returning('merchant_id')
    .execute();
  if (changed.length > 0) return;
  throw new GatewayError<MerchantErrorCode>('MERCHANT_NOT_FOUND', `no merchant ${merchantId}`, {
    retryable: false,
  });
}
