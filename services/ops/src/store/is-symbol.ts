import { sql, type RawBuilder } from 'kysely';

/** Whether a column is this token symbol; matched without case, as everywhere, and stored as the network file spells it. */
export function isSymbol(column: string, symbol: string): RawBuilder<boolean> {
  return sql<boolean>`upper(${sql.ref(column)}) = upper(${symbol})`;
}
