import { sql } from 'kysely';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { readChainStatuses, readCursorAges } from '@opentill/db/chain-status';
import type { Db } from '@opentill/db/database';
import { deleteEndedCounters, deleteExpiredNonces } from '@opentill/db/housekeeping';
import { listPresence } from '@opentill/db/presence';
import { findUnregistered } from '@opentill/db/registered-chains';
import type { ServiceSchema } from '@opentill/db/service-schema';
import type { Family } from '@opentill/domain/chains';

export interface MerchantRow {
  readonly merchantId: string;
  readonly version: 'V2' | 'V3';
  readonly signVersion: 1 | 2;
  readonly tokenSealed: Buffer;
  readonly returnOrigins: readonly string[];
  readonly orderTtlSeconds: number;
  readonly underpaymentToleranceBps: number;
  readonly markupBps: number;
  readonly lateGraceSeconds: number;
  readonly rateLimits: unknown;
  readonly enabled: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly readAt: Date;
}

export function upkeep(db: Db, networks: readonly NetworkConfig[]) {
  return {
    /** Merchants that changed since then; all without an argument. */
    async readMerchants(since: Date | undefined): Promise<readonly MerchantRow[]> {
      const { rows } = await sql<MerchantRow>`
        select merchant_id as "merchantId", version, sign_version as "signVersion", token_sealed as "tokenSealed",
          return_origins as "returnOrigins", order_ttl_seconds as "orderTtlSeconds",
          underpayment_tolerance_bps as "underpaymentToleranceBps", markup_bps as "markupBps", late_grace_seconds as "lateGraceSeconds",
          rate_limits as "rateLimits", enabled, created_at as "createdAt", updated_at as "updatedAt", now() as "readAt"
        from merchant where updated_at >= coalesce(${since ?? null}::timestamptz, '-infinity')`.execute(db);
      return rows;
    },

    /** Reserves indices for this process. A sequence never returns a value twice, even after a rollback. */
    async reserveDepositIndexes(family: Family, count: number): Promise<readonly number[]> {
      const sequence = `deposit_index_${family.toLowerCase()}`;
      const { rows } = await sql<{ index: number }>`
        select nextval(${sequence}::regclass) as index from generate_series(1, ${count}::int)`.execute(db);
      return rows.map((row) => row.index);
    },

    readCursorAges: () => readCursorAges(db),

    findUnregistered: () => findUnregistered(db, networks),

    readChainStatuses: () => readChainStatuses(db),

    async isHotWallet(family: Family, address: string): Promise<boolean> {
      const { rows } = await sql`
        select from hot_wallet where family = ${family} and address = ${address}`.execute(db);
      return rows.length > 0;
    },

    listPresence(schema: ServiceSchema): Promise<readonly string[]> {
      return listPresence(db, schema);
    },

    /** Deletes expired nonces and ended counters, one batch each. Returns 'again' when more may be left. */
    async deleteExpired(batch = 10_000): Promise<void | 'again'> {
      const forgotten = [await deleteExpiredNonces(db, batch), await deleteEndedCounters(db, batch)];
      return forgotten.includes(batch) ? 'again' : undefined;
    },
  };
}
