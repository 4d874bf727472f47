import type { Address } from '@opentill/chain/address-codec';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { sql } from 'kysely';
import { DEPOSIT_ASSET_SUMS, depositMovements, type DepositAsset } from './unswept-balance.ts';

export interface DepositAddress {
  readonly address: Address;
  readonly since: Date;
  /** By symbol; assets without a movement are absent. */
  readonly recorded: ReadonlyMap<string, DepositAsset>;
}

interface DepositAssetRow extends DepositAsset {
  readonly address: Address;
  readonly symbol: string | null;
}

/**
 * Ascending. With `paidOnly` only addresses that received a transfer: a first payment that no source showed is then not
 * found.
 */
export async function addressesAfter(
  db: Db,
  network: Pick<NetworkConfig, 'chain' | 'family' | 'nativeSymbol'>,
  page: {
    readonly after: string;
    readonly height: number;
    readonly limit: number;
    readonly paidOnly: boolean;
  },
): Promise<readonly DepositAddress[]> {
  const { chain, family } = network;
  const { rows } = await sql<DepositAssetRow & { since: Date }>`
    with page as materialized (
      select d.address, d.created_at from deposit_address d
      where d.family = ${family} and d.address > ${page.after} and (
        (not ${page.paidOnly} and exists (select from orders o where o.order_pk = d.order_pk and o.chain = ${chain}))
        or (not ${page.paidOnly} and exists (
          select from order_option x where x.order_pk = d.order_pk and x.chain = ${chain} and x.chosen_at is not null))
        or exists (select from transfer t where t.family = d.family and t.to_address = d.address and t.chain = ${chain}))
      order by d.address limit ${page.limit}
    )
    select p.address, p.created_at as since, l.symbol, ${DEPOSIT_ASSET_SUMS}
    from page p left join (
      select w.* from (${depositMovements(network, page.height)}) w where w.address in (select address from page)
    ) l on l.address = p.address
    group by p.address, p.created_at, l.symbol order by p.address`.execute(db);
  const recorded = byAddress(rows);
  const since = new Map(rows.map((row) => [row.address, row.since]));
  return [...since].map(([address, at]) => ({
    address,
    since: at,
    recorded: recorded.get(address) ?? new Map(),
  }));
}

/** Reads movements up to a block, by symbol. Addresses without one are absent. */
export async function readDepositAssets(
  db: Db,
  network: Pick<NetworkConfig, 'chain' | 'family' | 'nativeSymbol'>,
  addresses: readonly Address[],
  height: number,
): Promise<ReadonlyMap<Address, ReadonlyMap<string, DepositAsset>>> {
  const { rows } = await sql<DepositAssetRow>`
    select l.address, l.symbol, ${DEPOSIT_ASSET_SUMS} from (${depositMovements(network, height)}) l
    where l.address = any(${addresses}) group by l.address, l.symbol`.execute(db);
  return byAddress(rows);
}

function byAddress(
  rows: readonly DepositAssetRow[],
): ReadonlyMap<Address, ReadonlyMap<string, DepositAsset>> {
  const found = new Map<Address, Map<string, DepositAsset>>();
  for (const { address, symbol, received, brought, swept, fees, unmatched } of rows) {
    if (symbol === null) continue;
    const recorded = { received, brought, swept, fees, unmatched };
    found.set(address, (found.get(address) ?? new Map<string, DepositAsset>()).set(symbol, recorded));
  }
  return found;
}
