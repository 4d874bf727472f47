import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { RateRefusal } from '@opentill/domain/decide-rate';
import type { Clock } from '@opentill/runtime/clock';

/** Digits after the point of a stored rate. Rates are rounded down, so that an amount is never too small. */
export const RATE_DECIMALS = 12;

/** Shape of `rate.sources`. */
export interface StoredSource {
  readonly source: string;
  readonly pair: string;
  readonly value: string;
  readonly at: string;
}

export interface NewRate {
  readonly rateId: string;
  /** Price of one coin in the currency: a decimal greater than zero. */
  readonly rate: string;
  readonly kind: 'PEG' | 'MARKET' | 'MANUAL';
  readonly sources: readonly StoredSource[];
  readonly validUntil: Date;
}

/** Either a rate or the reason why the pair has none. */
export interface PairRate {
  readonly symbol: string;
  readonly currency: string;
  readonly rate: NewRate | null;
  readonly refusal: RateRefusal | null;
}

export interface RateStore {
  /**
   * Replaces the older current rate of every pair, and withdraws those of other pairs. A newer decision stays. Times are
   * of this process's clock, and stored as the database's.
   */
  saveRates(rates: readonly PairRate[], decidedAt: Date): Promise<void>;
  /** Deletes rates that no order used. @returns the number deleted, at most `limit` */
  deleteUnused(limit?: number): Promise<number>;
  isReachable(): Promise<void>;
}

export function createRateStore(db: Db, clock: Clock): RateStore {
  return {
    async saveRates(rates, decidedAt) {
      const rows = JSON.stringify(rates);
      await db.transaction().execute(async (tx) => {
        // Not before now(), the begin of the transaction: no rate is valid for longer than decided.
        const sentAt = clock.now();
        const decided = sql`now() + (${decidedAt}::timestamptz - ${sentAt}::timestamptz)`;
        await sql`
          insert into rate (rate_id, symbol, currency, rate, kind, sources, taken_at, valid_until)
          select (r ->> 'rateId')::uuid, p ->> 'symbol', p ->> 'currency', r ->> 'rate', r ->> 'kind',
            r -> 'sources', ${decided}, now() + ((r ->> 'validUntil')::timestamptz - ${sentAt}::timestamptz)
          from jsonb_array_elements(${rows}::jsonb) p, jsonb_extract_path(p, 'rate') r
          where jsonb_typeof(r) = 'object'`.execute(tx);
        // In one order of keys, so that two replicas do not deadlock.
        await sql`
          insert into current_rate (symbol, currency, rate_id, refusal, decided_at)
          select p ->> 'symbol', p ->> 'currency', (p -> 'rate' ->> 'rateId')::uuid, p ->> 'refusal', ${decided}
          from jsonb_array_elements(${rows}::jsonb) p order by 1, 2
          on conflict (symbol, currency) do update
            set rate_id = excluded.rate_id, refusal = excluded.refusal, decided_at = excluded.decided_at
            where current_rate.decided_at <= excluded.decided_at
              or current_rate.decided_at > clock_timestamp()`.execute(tx); // of a clock that was ahead
        await sql`
          delete from current_rate where (symbol, currency) not in (
            select p ->> 'symbol', p ->> 'currency' from jsonb_array_elements(${rows}::jsonb) p)`.execute(tx);
      });
    },

    async deleteUnused(limit = 1_000) {
      const { numAffectedRows } = await sql`
        delete from rate where rate_id in (
          select rate_id from rate r
          where taken_at < now() - interval '1 day' and not exists (
            select from current_rate c where c.rate_id = r.rate_id) and not exists (
            select from orders o where o.rate_id = r.rate_id) and not exists (
            select from order_option x where x.rate_id = r.rate_id)
          order by taken_at limit ${limit})`.execute(db);
      return Number(numAffectedRows ?? 0n);
    },

    async isReachable() {
      await sql`select 1`.execute(db);
    },
  };
}
