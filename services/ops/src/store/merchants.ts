import { sql } from 'kysely';
import type { OpsInput } from '@opentill/contracts/ops/catalog';
import type { Db } from '@opentill/db/database';
import { GATEWAY_MERCHANT_ID } from '@opentill/db/merchants';
import type { LogoType } from '@opentill/db/merchant-tables';

function merchants(db: Db) {
  return db
    .selectFrom('merchant as m')
    .leftJoin('callback_endpoint as e', 'e.merchant_id', 'm.merchant_id')
    .where('m.merchant_id', '<>', GATEWAY_MERCHANT_ID)
    .select((eb) => [
      'm.merchant_id as merchantId',
      'm.name',
      'm.version',
      'm.callback_url as callbackUrl',
      'm.return_origins as returnOrigins',
      'm.sign_version as signVersion',
      'm.order_ttl_seconds as orderTtlSeconds',
      'm.underpayment_tolerance_bps as underpaymentToleranceBps',
      'm.markup_bps as markupBps',
      'm.late_grace_seconds as lateGraceSeconds',
      'm.notify_reverted as notifyReverted',
      'm.notify_unmatched as notifyUnmatched',
      'm.logo_type as logoType',
      'm.logo_hash as logoHash',
      'm.accent_color as accentColor',
      'm.support_url as supportUrl',
      'm.support_email as supportEmail',
      'm.shop_url as shopUrl',
      'm.rate_limits as rateLimits',
      'm.enabled',
      sql<Date | null>`case when m.webhook_secret_switch_at > now() then m.webhook_secret_switch_at end`.as(
        'webhookSecretSwitchAt',
      ),
      eb.fn.coalesce('e.state', sql.lit('CLOSED' as const)).as('endpointState'),
      sql<Date | null>`case e.state when 'OPEN' then e.opened_at when 'DISABLED' then e.disabled_at end`.as(
        'endpointSince',
      ),
      'e.disabled_reason as disabledReason',
      'm.created_at as createdAt',
      'm.updated_at as updatedAt',
    ]);
}

export async function findMerchants(db: Db, after: string | undefined, limit: number) {
  return merchants(db)
    .where('m.merchant_id', '>', after ?? '')
    .orderBy('m.merchant_id')
    .limit(limit)
    .execute();
}
export type MerchantRow = Awaited<ReturnType<typeof findMerchants>>[number];

export async function readMerchant(db: Db, merchantId: string): Promise<MerchantRow | undefined> {
  return merchants(db).where('m.merchant_id', '=', merchantId).executeTakeFirst();
}

export interface MerchantLogo {
  readonly bytes: Buffer;
  readonly type: LogoType;
}

export async function updateMerchant(
  db: Db,
  merchantId: string,
  change: Omit<OpsInput<'setMerchant'>, 'merchantId' | 'logo'>,
  logo?: MerchantLogo | null,
): Promise<boolean> {
  const { signVersion } = change;
  const rows = await db
    .updateTable('merchant')
    .set({
      ...(change.name !== undefined && { name: change.name }),
      ...(change.callbackUrl !== undefined && { callback_url: change.callbackUrl }),
      ...(change.returnOrigins !== undefined && { return_origins: [...change.returnOrigins] }),
      ...(signVersion !== undefined && { sign_version: signVersion as 1 | 2 }),
      ...(change.orderTtlSeconds !== undefined && { order_ttl_seconds: change.orderTtlSeconds }),
      ...(change.markupBps !== undefined && { markup_bps: change.markupBps }),
      ...(change.underpaymentToleranceBps !== undefined && {
        underpayment_tolerance_bps: change.underpaymentToleranceBps,
      }),
      ...(change.lateGraceSeconds !== undefined && { late_grace_seconds: change.lateGraceSeconds }),
      ...(change.notifyReverted !== undefined && { notify_reverted: change.notifyReverted }),
      ...(change.notifyUnmatched !== undefined && { notify_unmatched: change.notifyUnmatched }),
      ...(logo !== undefined && { logo: logo?.bytes ?? null, logo_type: logo?.type ?? null }),
      ...(change.accentColor !== undefined && { accent_color: change.accentColor?.toLowerCase() ?? null }),
      ...(change.supportUrl !== undefined && { support_url: change.supportUrl }),
      ...(change.supportEmail !== undefined && { support_email: change.supportEmail }),
      ...(change.shopUrl !== undefined && { shop_url: change.shopUrl }),
      ...(change.rateLimits !== undefined && { rate_limits: JSON.stringify(change.rateLimits) }),
      ...(change.enabled !== undefined && { enabled: change.enabled }),
      updated_at: sql`now()`,
    })
    .where('merchant_id', '=', merchantId)
    .where('merchant_id', '<>', GATEWAY_MERCHANT_ID)
    .returning('merchant_id')
    .execute();
  return rows.length > 0;
}
