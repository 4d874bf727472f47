import { sql, type RawBuilder } from 'kysely';

/** The stored case is that of the network file. */
export function isSymbol(column: string, symbol: string): RawBuilder<boolean> {
  return sql<boolean>`upper(${sql.ref(column)}) = upper(${symbol})`;
}
