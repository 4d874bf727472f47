import type { NetworkConfig } from '@opentill/contracts/network-config';
import { sql, type RawBuilder } from 'kysely';

type Network = Pick<NetworkConfig, 'chain' | 'family' | 'nativeSymbol'>;

/**
 * Rows (address, symbol, amount) of all that came to deposit addresses of a chain, or left them, in blocks up to `height`: verified
 * transfers; less what sweeps took away, and their fees, which on SUI the hot wallet pays; and the coin that was sent there for these. What they add up to lies
 * there. By what the scanner saw, not by what the ledger made of it.
 */
export function whatLies({ chain, family, nativeSymbol }: Network, height: number): RawBuilder<unknown> {
  const moved = sql`own_transaction_fate f join own_transaction x on x.chain = f.chain and x.tx_hash = f.tx_hash
      join movement m on m.order_pk = x.order_pk`;
  const inBlock = sql`f.chain = ${chain} and f.state <> 'ORPHANED' and f.block_height <= ${height}`;
  return sql`
    select t.to_address as address, t.symbol, t.amount from transfer t
      join deposit_address d on d.family = t.family and d.address = t.to_address
      where t.family = ${family} and t.chain = ${chain} and t.state = 'VERIFIED' and t.block_height <= ${height}
    union all
    select x.wallet, o.symbol, -x.amount from ${moved} join orders o on o.order_pk = x.order_pk
      where ${inBlock} and m.kind = 'SWEEP' and f.succeeded and f.delivered > 0
    union all
    select x.wallet, ${nativeSymbol}, -f.network_fee from ${moved} where ${inBlock} and m.kind = 'SWEEP' and x.family <> 'SUI'
    union all
    select x.to_address, ${nativeSymbol}, f.delivered from ${moved}
      where ${inBlock} and m.kind = 'GAS_TOP_UP' and f.succeeded and f.delivered > 0`;
}
