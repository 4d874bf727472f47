import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { startLoop } from '@opentill/runtime/loop';
import { aCollection, type OrderRow } from '@opentill/testkit/scenario';
import type { TestDatabase } from '@opentill/testkit/test-database';
import type { ChainOfWorld } from './create-world.ts';
import { keepBooks } from './keep-books.ts';
import type { TestKeys } from './test-keys.ts';

interface World extends Pick<TestKeys, 'depositAddress'> {
  readonly network: NetworkConfig;
  readonly database: TestDatabase;
  readonly admin: Db;
  readonly chain: Pick<ChainOfWorld, 'token'>;
}

export interface SweepRow {
  readonly state: string;
  readonly method: string;
  readonly reason: string | null;
  readonly rent_cost: bigint | null;
}

export async function openSweepParts({ network, database, admin, depositAddress, chain: { token } }: World) {
  const { symbol: usual } = token;
  const { chain, family, nativeSymbol } = network;
  await sql`insert into chain_family (chain, family) values (${chain}, ${family}) on conflict do nothing`.execute(
    admin,
  );
  const tracker = database.open('tracker');
  const books = startLoop({
    name: 'books',
    intervalMs: 100,
    run: () => keepBooks(admin, tracker.kysely, chain, nativeSymbol),
  });
  let index = 1_000_000;
  return {
    async orderFor(symbol = usual): Promise<OrderRow> {
      index += 1;
      const { contract, decimals } = network.tokens.find((token) => token.symbol === symbol)!;
      const order = await aCollection(admin, {
        chain,
        family,
        symbol,
        contract_address: family === 'EVM' ? (contract?.toLowerCase() ?? null) : contract,
        decimals,
        address: depositAddress(index),
      });
      await sql`update deposit_address set derivation_index = ${index} where order_pk = ${order.order_pk}`.execute(
        admin,
      );
      return order;
    },
    async receivedAt({ address, symbol }: OrderRow): Promise<bigint> {
      const { rows } = await sql<{ received: bigint }>`
        select received from deposit_balance where address = ${address} and symbol = ${symbol}`.execute(
        admin,
      );
      return rows[0]?.received ?? 0n;
    },
    async sweepsOf({ address }: OrderRow): Promise<readonly SweepRow[]> {
      const { rows } = await sql<SweepRow>`
        select state, method, reason, rent_cost from sweep where address = ${address} order by planned_at`.execute(
        admin,
      );
      return rows;
    },
    /** Kinds and account states of an address's movements, oldest first. */
    async movesOf({ address }: OrderRow): Promise<readonly { kind: string; money: string }[]> {
      const { rows } = await sql<{ kind: string; money: string }>`
        select m.kind, p.money from sweep s join movement m using (sweep_id) join payout p using (order_pk)
        where s.address = ${address} order by m.created_at`.execute(admin);
      return rows;
    },
    async balance(kind: string, symbol = usual): Promise<bigint> {
      const { rows } = await sql<{ balance: bigint | null }>`
        select sum(balance) as balance from ledger_account
        where kind = ${kind} and chain = ${chain} and symbol = ${symbol}`.execute(admin);
      return rows[0]?.balance ?? 0n;
    },
    async closeBooks() {
      await books.stop();
      await tracker.close();
    },
  };
}
