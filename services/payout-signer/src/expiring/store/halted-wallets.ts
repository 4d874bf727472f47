import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { Db } from '@opentill/db/database';
import type { WalletKey } from '../../payouts/payout-facts.ts';

export async function readHaltedWallets(
  db: Db,
  { chain }: Pick<WalletKey, 'chain'>,
): Promise<ReadonlySet<Address>> {
  const { rows } = await sql<{ wallet: Address }>`
    select distinct h.wallet from wallet_halt h where h.chain = ${chain} and h.wallet is not null and h.released_at is null`.execute(
    db,
  );
  return new Set(rows.map(({ wallet }) => wallet));
}
