import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Db } from './database.ts';
import { sealSecret, tokenAad, webhookSecretAad } from './sealed-secret.ts';

/**
 * - `SECRET_CHANGE_UNDER_WAY`: two webhook secrets overlap; finish or cancel that first.
 * - `NO_SECRET_CHANGE`: no two webhook secrets overlap.
 */
export type MerchantErrorCode = 'MERCHANT_NOT_FOUND' | 'SECRET_CHANGE_UNDER_WAY' | 'NO_SECRET_CHANGE';

export interface MerchantSettings {
  readonly merchantId: string;
  readonly name: string;
  readonly version: 'V2' | 'V3';
  /** Plain text; sealed before it is stored. */
  readonly token: string;
  /** Plain text; sealed before it is stored. */
  readonly webhookSecret: string;
  readonly signVersion?: 1 | 2;
  readonly callbackUrl?: string | null;
  readonly returnOrigins?: readonly string[];
  readonly orderTtlSeconds?: number;
  readonly underpaymentToleranceBps?: number;
  readonly markupBps?: number;
  readonly lateGraceSeconds?: number;
  readonly notifyReverted?: boolean;
  readonly notifyUnmatched?: boolean;
  readonly rateLimits?: Readonly<Record<string, unknown>>;
  readonly enabled?: boolean;
}

export interface MerchantSummary {
  readonly merchantId: string;
  readonly name: string;
  readonly version: 'V2' | 'V3';
  readonly callbackUrl: string | null;
  /** When the next webhook secret replaces the current one; null if no change is pending. */
  readonly webhookSecretSwitchAt: Date | null;
  readonly endpointState: 'CLOSED' | 'OPEN' | 'DISABLED';
  /** Start of OPEN or DISABLED. */
  readonly endpointSince: Date | null;
  readonly disabledReason: string | null;
  readonly enabled: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const NO_NEXT_SECRET = { webhook_secret_next_sealed: null, webhook_secret_switch_at: null } as const;

/** A token is an HMAC key, and anyone who sees a signed request can try tokens on it. 32 hex digits are 128 bits. */
export const MERCHANT_TOKEN_LENGTH_MIN = 32;

/** Omitted settings keep their value or default. @throws GatewayError MERCHANT_TOKEN_SHORT */
export async function upsertMerchant(db: Db, secretsKey: Buffer, merchant: MerchantSettings): Promise<void> {
  const { merchantId } = merchant;
  requireMerchantToken(`The token of merchant ${merchantId}`, merchant.token);
  const given = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
  const settings = {
    name: merchant.name,
    version: merchant.version,
    token_sealed: sealSecret(secretsKey, merchant.token, tokenAad(merchantId)),
    webhook_secret_sealed: sealSecret(secretsKey, merchant.webhookSecret, webhookSecretAad(merchantId)),
    ...NO_NEXT_SECRET, // the given secret is valid at once
    ...given({
      sign_version: merchant.signVersion,
      callback_url: merchant.callbackUrl,
      return_origins: merchant.returnOrigins && [...merchant.returnOrigins],
      order_ttl_seconds: merchant.orderTtlSeconds,
      underpayment_tolerance_bps: merchant.underpaymentToleranceBps,
      markup_bps: merchant.markupBps,
      late_grace_seconds: merchant.lateGraceSeconds,
      notify_reverted: merchant.notifyReverted,
      notify_unmatched: merchant.notifyUnmatched,
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

/** Owns the gateway's own movements without an order. Never enabled, and excluded from lists. */
export const GATEWAY_MERCHANT_ID = '_gateway';

export async function listMerchants(db: Db): Promise<readonly MerchantSummary[]> {
  return db
    .selectFrom('merchant as m')
    .leftJoin('callback_endpoint as e', 'e.merchant_id', 'm.merchant_id')
    .select((eb) => [
      'm.merchant_id as merchantId',
      'm.name',
      'm.version',
      'm.callback_url as callbackUrl',
      sql<Date | null>`case when m.webhook_secret_switch_at > now() then m.webhook_secret_switch_at end`.as(
        'webhookSecretSwitchAt',
      ),
      eb.fn.coalesce('e.state', sql.lit('CLOSED' as const)).as('endpointState'),
      sql<Date | null>`case e.state when 'OPEN' then e.opened_at when 'DISABLED' then e.disabled_at end`.as(
        'endpointSince',
      ),
      'e.disabled_reason as disabledReason',
      'm.enabled',
      'm.created_at as createdAt',
      'm.updated_at as updatedAt',
    ])
    .where('m.merchant_id', '<>', GATEWAY_MERCHANT_ID)
    .orderBy('m.merchant_id')
    .execute();
}

/** @returns the new token in plain text, shown only once. @throws GatewayError MERCHANT_NOT_FOUND */
export async function rotateToken(db: Db, secretsKey: Buffer, merchantId: string): Promise<string> {
  const token = newSecret();
  await change(db, merchantId, { token_sealed: sealSecret(secretsKey, token, tokenAad(merchantId)) });
  return token;
}

/** Plain text; shown only once. */
export interface NewWebhookSecret {
  readonly secret: string;
  /** From this time on only the new secret signs; before it callbacks carry both signatures. Null: now. */
  readonly switchAt: Date | null;
}

/**
 * Works at once, or after an overlap in which both sign. @throws GatewayError MERCHANT_NOT_FOUND,
 * SECRET_CHANGE_UNDER_WAY
 */
export async function rotateWebhookSecret(
  db: Db,
  secretsKey: Buffer,
  merchantId: string,
  overlapSeconds = 0,
): Promise<NewWebhookSecret> {
  const secret = newSecret();
  const sealed = sealSecret(secretsKey, secret, webhookSecretAad(merchantId));
  const changed =
    overlapSeconds === 0
      ? await replaceAtOnce(db, merchantId, sealed)
      : await overlap(db, merchantId, sealed, overlapSeconds);
  if (changed !== undefined) return { secret, switchAt: changed.switchAt };
  await requireMerchant(db, merchantId);
  throw refuse(
    'SECRET_CHANGE_UNDER_WAY',
    `a change of the webhook secret of ${merchantId} is already pending`,
  );
}

interface SecretSwitch {
  readonly switchAt: Date | null;
}

async function replaceAtOnce(db: Db, merchantId: string, sealed: Buffer): Promise<SecretSwitch | undefined> {
  return db
    .updateTable('merchant')
    .set({ webhook_secret_sealed: sealed, ...NO_NEXT_SECRET, updated_at: sql`now()` })
    .where('merchant_id', '=', merchantId)
    .where(sql<boolean>`coalesce(webhook_secret_switch_at <= now(), true)`)
    .returning('webhook_secret_switch_at as switchAt')
    .executeTakeFirst();
}

async function overlap(
  db: Db,
  merchantId: string,
  sealed: Buffer,
  overlapSeconds: number,
): Promise<SecretSwitch | undefined> {
  const { rows } = await sql<{ switchAt: Date | null }>`
    select overlap_webhook_secret(${merchantId}, ${sealed}, ${overlapSeconds}) as "switchAt"`.execute(db);
  return rows.find(({ switchAt }) => switchAt !== null);
}

/**
 * FINISH keeps only the new secret, CANCEL only the old one. @throws GatewayError MERCHANT_NOT_FOUND, NO_SECRET_CHANGE
 */
export async function endSecretChange(db: Db, merchantId: string, how: 'FINISH' | 'CANCEL'): Promise<void> {
  const ended = how === 'FINISH' ? await finish(db, merchantId) : await cancel(db, merchantId);
  if (ended) return;
  await requireMerchant(db, merchantId);
  throw refuse('NO_SECRET_CHANGE', `no change of the webhook secret of ${merchantId} is pending`);
}

async function finish(db: Db, merchantId: string): Promise<boolean> {
  const { rows } = await sql<{ finished: boolean }>`
    select finish_webhook_secret(${merchantId}) as finished`.execute(db);
  return rows[0]?.finished ?? false;
}

async function cancel(db: Db, merchantId: string): Promise<boolean> {
  const changed = await db
    .updateTable('merchant')
    .set({ ...NO_NEXT_SECRET, updated_at: sql`now()` })
    .where('merchant_id', '=', merchantId)
    .where('webhook_secret_switch_at', '>', sql<Date>`now()`)
    .returning('merchant_id')
    .execute();
  return changed.length > 0;
}

function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

async function change(db: Db, merchantId: string, fields: { token_sealed: Buffer }): Promise<void> {
  const changed = await db
    .updateTable('merchant')
    .set({ ...fields, updated_at: sql`now()` })
    .where('merchant_id', '=', merchantId)
    .returning('merchant_id')
    .execute();
  if (changed.length === 0) throw refuse('MERCHANT_NOT_FOUND', `no merchant ${merchantId}`);
}

async function requireMerchant(db: Db, merchantId: string): Promise<void> {
  const query = db.selectFrom('merchant').select('merchant_id').where('merchant_id', '=', merchantId);
  if ((await query.executeTakeFirst()) === undefined)
    throw refuse('MERCHANT_NOT_FOUND', `no merchant ${merchantId}`);
}

function refuse(code: MerchantErrorCode, message: string): GatewayError<MerchantErrorCode> {
  return new GatewayError(code, message, { retryable: false });
}

/** @param what owner of the token, for the error; @throws GatewayError MERCHANT_TOKEN_SHORT */
export function requireMerchantToken(what: string, token: string): void {
  if (token.length >= MERCHANT_TOKEN_LENGTH_MIN) return;
  throw new GatewayError(
    'MERCHANT_TOKEN_SHORT',
    `${what} has ${token.length} characters; at least ${MERCHANT_TOKEN_LENGTH_MIN} are required. Make one with "openssl rand -hex 32".`,
    { retryable: false },
  );
}
