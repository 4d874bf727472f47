import { sql, type RawBuilder } from 'kysely';
import type { TokenId } from '@opentill/contracts/format-unmatched';

/**
 * Condition on a transfer `t`, like unmatchedTokenOf: its token is one of the configured `tokens`, or the order accepts it.
 * `order` is the alias of the order's row.
 */
export function hasListedToken(order: string, tokens: readonly TokenId[]): RawBuilder<boolean> {
  const chains = tokens.map(({ chain }) => chain);
  const symbols = tokens.map(({ symbol }) => symbol);
  const of = (column: string) => sql.ref(`${order}.${column}`);
  return sql<boolean>`((t.chain, t.symbol) in (select * from unnest(${chains}::text[], ${symbols}::text[]))
    or case when ${of('choices')} is null then (t.chain, t.symbol) = (${of('chain')}, ${of('symbol')})
      else exists (select from order_option x
        where x.order_pk = ${of('order_pk')} and (x.chain, x.symbol) = (t.chain, t.symbol)) end)`;
}
