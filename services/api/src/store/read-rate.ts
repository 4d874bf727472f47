import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';

export interface CurrentRate {
  readonly rateId: string;
  /** Price of one coin in the currency: a decimal. */
  readonly rate: string;
}

export type RateAnswer =
  | CurrentRate
  /** As `explainRate` takes it. */
  | { readonly refusal: string | null | undefined };

export function rateReads(db: Db) {
  return {
    /** The current rate of a coin, if it is valid by the database's clock. The symbol is case-insensitive. */
    async findRate(symbol: string, currency: string): Promise<RateAnswer> {
      const { rows } = await sql<{
        rateId: string | null;
        rate: string | null;
        refusal: string | null;
      }>`
        select r.rate_id as "rateId", r.rate, c.refusal
        from current_rate c left join rate r on r.rate_id = c.rate_id and r.valid_until > now()
        where upper(c.symbol) = upper(${symbol}) and c.currency = ${currency}
        order by r.rate_id is null limit 1`.execute(db);
      const [row] = rows;
      if (row === undefined) return { refusal: undefined };
      const { rateId, rate, refusal } = row;
      return rateId === null || rate === null ? { refusal } : { rateId, rate };
    },
  };
}
