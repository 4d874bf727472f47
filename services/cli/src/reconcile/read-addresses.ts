import type { Address } from '@opentill/chain/address-codec';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { sql } from 'kysely';
import { whatLies } from './what-lies.ts';

/** A deposit address with what came in by verified transfers. */
export interface DepositAddress {
  readonly address: Address;
  readonly since: Date;
  /** By symbol, less what was swept; nothing of a token that never came. */
  readonly received: ReadonlyMap<string, bigint>;
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
  const { rows } = await sql<{
    address: Address;
    since: Date;
    symbol: string | null;
    amount: bigint | null;
  }>`
    with page as materialized (
      select d.address, d.created_at from deposit_address d
      where d.family = ${family} and d.address > ${page.after} and (
        (not ${page.paidOnly} and exists (select from orders o where o.order_pk = d.order_pk and o.chain = ${chain}))
        or exists (select from transfer t where t.family = d.family and t.to_address = d.address and t.chain = ${chain}))
      order by d.address limit ${page.limit}
    )
    select p.address, p.created_at as since, t.symbol, sum(t.amount) as amount
    from page p left join (
      select l.address, l.symbol, l.amount from (${whatLies(network, page.height)}) l where l.address in (select address from page)
    ) t on t.address = p.address
    group by p.address, p.created_at, t.symbol order by p.address`.execute(db);
  const addresses = new Map<Address, DepositAddress & { readonly received: Map<string, bigint> }>();
  for (const { address, since, symbol, amount } of rows) {
    const known = addresses.get(address) ?? { address, since, received: new Map<string, bigint>() };
    addresses.set(address, known);
    if (symbol !== null && amount !== null) known.received.set(symbol, amount);
  }
  return [...addresses.values()];
}

/** What lies on each of the addresses at a block, by symbol; nothing of those that nothing came to. */
export async function receivedBy(
  db: Db,
  network: Pick<NetworkConfig, 'chain' | 'family' | 'nativeSymbol'>,
  addresses: readonly Address[],
  height: number,
): Promise<ReadonlyMap<Address, ReadonlyMap<string, bigint>>> {
  const { rows } = await sql<{ address: Address; symbol: string; amount: bigint }>`
    select l.address, l.symbol, sum(l.amount) as amount from (${whatLies(network, height)}) l
    where l.address = any(${addresses}) group by l.address, l.symbol`.execute(db);
  const received = new Map<Address, Map<string, bigint>>();
  for (const { address, symbol, amount } of rows)
    received.set(address, (received.get(address) ?? new Map<string, bigint>()).set(symbol, amount));
  return received;
}
