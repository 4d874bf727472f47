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

interface RateRow {
  readonly symbol: string;
  readonly rateId: string | null;
  readonly rate: string | null;
  readonly refusal: string | null;
}

export function rateReads(db: Db) {
  return {
    /** The current rates of coins that are valid by the database's clock, for symbols of any case. */
    async findRates(symbols: readonly string[], currency: string): Promise<(symbol: string) => RateAnswer> {
      const { rows } = await sql<RateRow>`
        select upper(c.symbol) as symbol, r.rate_id as "rateId", r.rate, c.refusal
        from current_rate c left join rate r on r.rate_id = c.rate_id and r.valid_until > now()
        where upper(c.symbol) = any(${symbols.map((symbol) => symbol.toUpperCase())}::text[]) and c.currency = ${currency}
        order by r.rate_id is not null`.execute(db);
      const bySymbol = new Map(rows.map((row) => [row.symbol, row]));
      return (symbol) => {
        const row = bySymbol.get(symbol.toUpperCase());
        if (row === undefined) return { refusal: undefined };
        const { rateId, rate, refusal } = row;
        return rateId === null || rate === null ? { refusal } : { rateId, rate };
      };
    },
  };
}
