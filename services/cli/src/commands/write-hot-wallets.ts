import type { DatabaseOptions, Db } from '@opentill/db/database';
import { FAMILIES, type NetworkKind } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import { publicKeysFor, readPublicKeys, type PublicKeys } from '@opentill/wallet/public-keys';
import { addHotWallets, findHotWallets } from '../store/hot-wallets.ts';
import { withDatabase } from '../open-database.ts';
import { FAMILY_CODECS } from '../families.ts';

export type HotWalletsErrorCode = 'WALLETS_OF_OTHER_KIND';

/**
 * Transfers to these wallets count as the operator's top-ups. Earlier wallets stay, with their payouts and balances.
 * @returns a summary of new wallets; @throws GatewayError WALLETS_OF_OTHER_KIND
 */
export async function writeHotWallets(
  database: DatabaseOptions,
  publicKeysFile: string,
  kind: NetworkKind,
): Promise<string> {
  const file = await readPublicKeys(publicKeysFile, FAMILY_CODECS);
  const keys = publicKeysFor(file, kind);
  const wallets = FAMILIES.flatMap((family) =>
    keys.families[family].hotWallets.map((address) => ({ family, address })),
  );
  if (wallets.length === 0) return 'none in the public key file';
  return withDatabase(database, async (db) => {
    await refuseOtherKind(db, file, kind);
    const added = await addHotWallets(db, wallets, keys.fingerprint);
    return added.length === 0 ? 'known' : `added ${added.join(', ')}`;
  });
}

/** One database serves main or test networks, never both. */
async function refuseOtherKind(db: Db, file: PublicKeys, kind: NetworkKind): Promise<void> {
  const other = kind === 'main' ? 'test' : 'main';
  const theirs = FAMILIES.flatMap((family) => file[other]?.[family].hotWallets ?? []);
  if (theirs.length === 0) return;
  const addresses = await findHotWallets(db, theirs);
  if (addresses.length === 0) return;
  const correction =
    kind === 'main'
      ? 'Run main networks on a new database.'
      : 'Earlier versions used the wallet of main networks on test networks, too. Run test networks on a new database.';
  throw new GatewayError<HotWalletsErrorCode>(
    'WALLETS_OF_OTHER_KIND',
    `The database has the hot wallet of ${other} networks (${addresses.join(', ')}), and NETWORKS_FILE enables ${kind} networks. ${correction}`,
    { retryable: false, context: { kind, addresses } },
  );
}
