import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import type { OrderRow } from '@opentill/testkit/scenario';

/** What the database says of sweeps, and the ledger of the money. */
export interface SweepReading {
  sweepsOf(order: OrderRow): Promise<{ state: string; method: string; reason: string | null }[]>;
  /** Kinds of an address's movements and where their amounts stand, oldest first. */
  movesOf(order: OrderRow): Promise<{ kind: string; money: string }[]>;
  balance(kind: string, symbol?: string): Promise<bigint>;
}

export function readSweeps(admin: Db, chain: Chain, usualSymbol: string): SweepReading {
  return {
    async sweepsOf({ address }) {
      const { rows } = await sql<{ state: string; method: string; reason: string | null }>`
        select state, method, reason from sweep where address = ${address} order by planned_at`.execute(
        admin,
      );
      return rows;
    },
    async movesOf({ address }) {
      const { rows } = await sql<{ kind: string; money: string }>`
        select m.kind, p.money from sweep s join movement m using (sweep_id) join payout p using (order_pk)
        where s.address = ${address} order by m.created_at`.execute(admin);
      return rows;
    },
    async balance(kind, symbol = usualSymbol) {
      const { rows } = await sql<{ balance: bigint | null }>`
        select sum(balance) as balance from ledger_account where kind = ${kind} and chain = ${chain} and symbol = ${symbol}`.execute(
        admin,
      );
      return rows[0]?.balance ?? 0n;
    },
  };
}
