import type { Db } from '@opentill/db/database';
import { upsertMerchant } from '@opentill/db/merchants';
import { writeAuditOfDatabaseUser } from '@opentill/db/operators';
import { openSecret, tokenAad, webhookSecretAad } from '@opentill/db/sealed-secret';

/** An undefined field keeps its stored value. */
export interface SettingsMerchant {
  readonly merchantId: string;
  readonly key: Buffer;
  readonly token: string;
  readonly webhookSecret: string;
  readonly name: string | undefined;
  readonly version: 'V2' | 'V3' | undefined;
  readonly callbackUrl: string | undefined;
  readonly returnOrigins: readonly string[] | undefined;
}

export async function writeSettingsMerchant(db: Db, settings: SettingsMerchant): Promise<string> {
  const { merchantId, key, token, webhookSecret, callbackUrl, returnOrigins } = settings;
  const stored = await db
    .selectFrom('merchant')
    .selectAll()
    .where('merchant_id', '=', merchantId)
    .executeTakeFirst();
  const name = settings.name ?? stored?.name ?? merchantId;
  const version = settings.version ?? stored?.version ?? 'V3';
  const differences = stored && {
    token: openOrUndefined(key, stored.token_sealed, tokenAad(merchantId)) !== token,
    'webhook secret':
      openOrUndefined(key, stored.webhook_secret_sealed, webhookSecretAad(merchantId)) !== webhookSecret,
    name: name !== stored.name,
    version: version !== stored.version,
    'callback URL': callbackUrl !== undefined && callbackUrl !== stored.callback_url,
    'return origins': returnOrigins !== undefined && returnOrigins.join() !== stored.return_origins.join(),
  };
  const changed = Object.entries(differences ?? {}).flatMap(([what, isOther]) => (isOther ? [what] : []));
  if (stored !== undefined && changed.length === 0) return `${merchantId} matches the settings`;
  await db.transaction().execute(async (tx) => {
    await upsertMerchant(tx, key, {
      merchantId,
      name,
      version,
      token,
      webhookSecret,
      ...(callbackUrl !== undefined && { callbackUrl }),
      ...(returnOrigins !== undefined && { returnOrigins }),
    });
    const details = stored === undefined ? { created: true } : { changed };
    await writeAuditOfDatabaseUser(tx, { action: 'setup', subject: merchantId, details });
  });
  if (stored === undefined) return `${merchantId} (${version}) written from the settings`;
  return `${merchantId} updated from the settings: ${changed.join(', ')}`;
}

/** Undefined if it was sealed with another key. */
function openOrUndefined(key: Buffer, sealed: Buffer, aad: string): string | undefined {
  try {
    return openSecret(key, sealed, aad);
  } catch {
    return undefined;
  }
}
