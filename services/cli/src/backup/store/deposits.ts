import type { Address } from '@opentill/chain/address-codec';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { familyOf, type Chain, type Family } from '@opentill/domain/chains';
import { sql } from 'kysely';
import { readHotWalletAddresses } from '../../store/hot-wallets.ts';

export interface OwnPlaces {
  readonly hot: ReadonlySet<string>;
  /** Destinations of sweeps in the backup, and addresses that the operator names. */
  readonly cold: ReadonlySet<string>;
}

export async function readOwnPlaces(
  db: Db,
  { chain, family }: Pick<NetworkConfig, 'chain' | 'family'>,
  cold: readonly string[],
): Promise<OwnPlaces> {
  const hot = await readHotWalletAddresses(db, family);
  const known = await sql<{ address: string }>`
    select distinct destination as address from sweep where chain = ${chain} and destination_kind = 'COLD'
    union select o.address from movement m join orders o using (order_pk) where m.kind = 'TO_COLD' and o.chain = ${chain}`.execute(
    db,
  );
  return {
    hot: new Set(hot),
    cold: new Set([...known.rows.map(({ address }) => address), ...cold]),
  };
}

/** Lists addresses with money by the ledger or held by the restore, ascending. */
export async function readUnswept(
  db: Db,
  { chain, family }: Pick<NetworkConfig, 'chain' | 'family'>,
  restoreId: string,
  after: string,
  limit: number,
): Promise<readonly Address[]> {
  const { rows } = await sql<{ address: Address }>`
    select address from deposit_balance where chain = ${chain} and received > swept and address > ${after}
    union select h.wallet from restore_hold h join deposit_address d on d.family = ${family} and d.address = h.wallet
      where h.restore_id = ${restoreId} and h.chain = ${chain} and h.wallet > ${after}
    order by 1 limit ${limit}`.execute(db);
  return rows.map(({ address }) => address);
}

export async function findDepositAddresses(
  db: Db,
  family: Family,
  addresses: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ address: string }>`
    select address from deposit_address where family = ${family} and address = any(${addresses}::text[])`.execute(
    db,
  );
  return new Set(rows.map(({ address }) => address));
}

export async function isDepositAddress(
  db: Db,
  { chain, wallet }: { readonly chain: Chain; readonly wallet: string },
): Promise<boolean> {
  return (await findDepositAddresses(db, familyOf(chain), [wallet])).size > 0;
}

/** One statement of this size takes well under ten seconds. The table may have millions of rows. */
const TRANSFERS_PER_PAGE = 50_000;

/** Counts verified transfers of deposit addresses and hot wallets whose current version is not booked. */
export async function countUnbooked(db: Db, chain: Chain, perPage = TRANSFERS_PER_PAGE): Promise<number> {
  let [count, after] = [0, 0];
  for (;;) {
    const { rows } = await sql<{ n: number; last: number | null }>`
      with page as (
        select transfer_id, chain, state, version from transfer where transfer_id > ${after}::bigint order by transfer_id limit ${perPage}
      )
      select count(*) filter (where t.chain = ${chain} and t.state = 'VERIFIED' and s.settled_version is distinct from t.version)::int as n,
        max(t.transfer_id) as last
      from page t left join transfer_settlement s using (transfer_id)`.execute(db);
    const { n = 0, last = null } = rows[0] ?? {};
    if (last === null) return count;
    [count, after] = [count + n, last];
  }
}
