import type { Address } from '@opentill/chain/address-codec';
import type { Db } from '@opentill/db/database';
import { writeAuditOfDatabaseUser } from '@opentill/db/operators';
import type { Family } from '@opentill/domain/chains';

/** The order is that of readChainLedger. */
export async function readHotWalletAddresses(db: Db, family: Family): Promise<readonly Address[]> {
  const rows = await db
    .selectFrom('hot_wallet')
    .select('address')
    .where('family', '=', family)
    .orderBy('address')
    .execute();
  return rows.map(({ address }) => address as Address);
}

export async function findHotWallets(db: Db, addresses: readonly string[]): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('hot_wallet')
    .select('address')
    .where('address', 'in', addresses)
    .execute();
  return rows.map(({ address }) => address);
}

/** Writes an audit entry for new ones. @returns the new ones */
export async function addHotWallets(
  db: Db,
  wallets: readonly { readonly family: Family; readonly address: string }[],
  fingerprint: string,
): Promise<readonly string[]> {
  return db.transaction().execute(async (tx) => {
    const rows = await tx
      .insertInto('hot_wallet')
      .values(wallets.map((wallet) => ({ ...wallet, label: 'hot wallet' })))
      .onConflict((conflict) => conflict.doNothing())
      .returning('address')
      .execute();
    const added = rows.map(({ address }) => address);
    const details = { added, fingerprint };
    if (added.length > 0)
      await writeAuditOfDatabaseUser(tx, { action: 'setup', subject: 'hot wallets', details });
    return added;
  });
}
