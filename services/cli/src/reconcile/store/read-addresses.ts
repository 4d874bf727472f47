import type { Address } from '@opentill/chain/address-codec';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { sql } from 'kysely';
import { LYING_SUMS, whatLies, type Lying } from './unswept-balance.ts';

/** A deposit address with what lies there by the books. */
export interface DepositAddress {
  readonly address: Address;
  readonly since: Date;
  /** By symbol; nothing of an asset that never came. */
  readonly lying: ReadonlyMap<string, Lying>;
}

interface LyingRow extends Lying {
  readonly address: Address;
  readonly symbol: string | null;
}

/**
 * The next deposit addresses of a chain in their order: those of its orders, and those that received something of it
 * (money sent on the wrong chain). With `paidOnly` the latter alone, so that a first payment that nobody saw is not found.
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
  const { rows } = await sql<LyingRow & { since: Date }>`
    with page as materialized (
      select d.address, d.created_at from deposit_address d
      where d.family = ${family} and d.address > ${page.after} and (
        (not ${page.paidOnly} and exists (select from orders o where o.order_pk = d.order_pk and o.chain = ${chain}))
        or exists (select from transfer t where t.family = d.family and t.to_address = d.address and t.chain = ${chain}))
      order by d.address limit ${page.limit}
    )
    select p.address, p.created_at as since, l.symbol, ${LYING_SUMS}
    from page p left join (
      select w.* from (${whatLies(network, page.height)}) w where w.address in (select address from page)
    ) l on l.address = p.address
    group by p.address, p.created_at, l.symbol order by p.address`.execute(db);
  const lying = byAddress(rows);
  const since = new Map(rows.map((row) => [row.address, row.since]));
  return [...since].map(([address, at]) => ({ address, since: at, lying: lying.get(address) ?? new Map() }));
}

/** What lies on each of the addresses at a block, by symbol; nothing of those that nothing came to. */
export async function lyingOn(
  db: Db,
  network: Pick<NetworkConfig, 'chain' | 'family' | 'nativeSymbol'>,
  addresses: readonly Address[],
  height: number,
): Promise<ReadonlyMap<Address, ReadonlyMap<string, Lying>>> {
  const { rows } = await sql<LyingRow>`
    select l.address, l.symbol, ${LYING_SUMS} from (${whatLies(network, height)}) l
    where l.address = any(${addresses}) group by l.address, l.symbol`.execute(db);
  return byAddress(rows);
}

function byAddress(rows: readonly LyingRow[]): ReadonlyMap<Address, ReadonlyMap<string, Lying>> {
  const found = new Map<Address, Map<string, Lying>>();
  for (const { address, symbol, received, brought, swept, fees, unmatched } of rows) {
    if (symbol === null) continue;
    const lying = { received, brought, swept, fees, unmatched };
    found.set(address, (found.get(address) ?? new Map<string, Lying>()).set(symbol, lying));
  }
  return found;
}
