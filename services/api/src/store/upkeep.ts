import { sql } from 'kysely';
import { readChainStatuses } from '@opentill/db/chain-status';
import type { Db } from '@opentill/db/database';
import { forgetEndedCounters, forgetExpiredNonces } from '@opentill/db/housekeeping';
import { listPresence } from '@opentill/db/presence';
import type { ServiceSchema } from '@opentill/db/service-schema';
import type { Family } from '@opentill/domain/chains';

/** A merchant as it stands in the database. */
export interface MerchantRow {
  readonly merchantId: string;
  readonly version: 'V2' | 'V3';
  readonly signVersion: 1 | 2;
  readonly tokenSealed: Buffer;
  readonly returnOrigins: readonly string[];
  readonly orderTtlSeconds: number;
  readonly underpaymentToleranceBps: number;
  readonly lateGraceSeconds: number;
  readonly rateLimits: unknown;
  readonly enabled: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Now, at the database. */
  readonly readAt: Date;
}

/** What the api needs besides orders. */
export function upkeep(db: Db) {
  return {
    /** Merchants changed since then, or all. */
    async readMerchants(since: Date | undefined): Promise<readonly MerchantRow[]> {
      const { rows } = await sql<MerchantRow>`
        select merchant_id as "merchantId", version, sign_version as "signVersion", token_sealed as "tokenSealed",
          return_origins as "returnOrigins", order_ttl_seconds as "orderTtlSeconds",
          underpayment_tolerance_bps as "underpaymentToleranceBps", late_grace_seconds as "lateGraceSeconds",
          rate_limits as "rateLimits", enabled, created_at as "createdAt", updated_at as "updatedAt", now() as "readAt"
        from merchant where updated_at >= coalesce(${since ?? null}::timestamptz, '-infinity')`.execute(db);
      return rows;
    },

    /** Reserves indices for this process alone; a sequence never gives one twice, also when this rolls back. */
    async reserveDepositIndexes(family: Family, count: number): Promise<readonly number[]> {
      const sequence = `deposit_index_${family.toLowerCase()}`;
      const { rows } = await sql<{ index: number }>`
        select nextval(${sequence}::regclass) as index from generate_series(1, ${count}::int)`.execute(db);
      return rows.map((row) => row.index);
    },

    /** The chains whose scanner has committed a cursor, with the seconds since it last did. */
    async readCursorAges(): Promise<ReadonlyMap<string, number>> {
      const { rows } = await sql<{ chain: string; age: number }>`
        select chain, extract(epoch from now() - updated_at)::float8 as age from chain_cursor`.execute(db);
      return new Map(rows.map((row) => [row.chain, row.age]));
    },

    /** The states of chains, as services report them. */
    readChainStatuses: () => readChainStatuses(db),

    /** Whether payouts may be reserved from this address. */
    async isHotWallet(family: Family, address: string): Promise<boolean> {
      const { rows } = await sql`
        select from hot_wallet where family = ${family} and address = ${address}`.execute(db);
      return rows.length > 0;
    },

    listPresence(schema: ServiceSchema): Promise<readonly string[]> {
      return listPresence(db, schema);
    },

    /** Forgets nonces no request can use any more and ended counters, a batch each; 'again' when more may be left. */
    async forgetSpent(batch = 10_000): Promise<void | 'again'> {
      const forgotten = [await forgetExpiredNonces(db, batch), await forgetEndedCounters(db, batch)];
      return forgotten.includes(batch) ? 'again' : undefined;
    },
  };
}
