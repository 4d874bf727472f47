import { openDatabase } from '@opentill/db/database';
import { writeAuditOfDatabaseUser } from '@opentill/db/operators';
import { FAMILIES } from '@opentill/domain/chains';
import { readPublicKeys } from '@opentill/wallet/public-keys';
import { FAMILY_CODECS } from './keys/family-codecs.ts';

/**
 * Tells the database which addresses payouts leave from: what comes in there is the operator's. Those of before stay,
 * as their payouts and balances do. @returns for people: which are new
 * @throws GatewayError FILE_UNREADABLE, PUBLIC_KEYS_INVALID and what the database refuses
 */
export async function writeHotWallets(adminUrl: string, publicKeysFile: string): Promise<string> {
  const keys = await readPublicKeys(publicKeysFile, FAMILY_CODECS);
  const wallets = FAMILIES.flatMap((family) =>
    keys.families[family].hotWallets.map((address) => ({ family, address, label: 'hot wallet' })),
  );
  if (wallets.length === 0) return 'none in the public key file';
  const database = openDatabase({ url: adminUrl, applicationName: 'opentill-setup', poolMax: 1 });
  try {
    const added = await database.kysely.transaction().execute(async (tx) => {
      const rows = await tx
        .insertInto('hot_wallet')
        .values(wallets)
        .onConflict((conflict) => conflict.doNothing())
        .returning('address')
        .execute();
      const details = { added: rows.map(({ address }) => address), fingerprint: keys.fingerprint };
      if (rows.length > 0)
        await writeAuditOfDatabaseUser(tx, { action: 'setup', subject: 'hot wallets', details });
      return rows;
    });
    return added.length === 0 ? 'known' : `added ${added.map(({ address }) => address).join(', ')}`;
  } finally {
    await database.close();
  }
}
