import type { NetworkConfig } from '@opentill/contracts/network-config';
import { sql, type RawBuilder } from 'kysely';

type Network = Pick<NetworkConfig, 'chain' | 'family' | 'nativeSymbol'>;

export interface DepositAsset {
  readonly received: bigint;
  /** Native coin from the hot wallet for fees. */
  readonly brought: bigint;
  readonly swept: bigint;
  readonly fees: bigint;
  /** Part of `received` that no order could take. */
  readonly unmatched: bigint;
}

export const NO_MOVEMENTS: DepositAsset = { received: 0n, brought: 0n, swept: 0n, fees: 0n, unmatched: 0n };

/** Below zero if fees were paid with coin from third parties. Pure. */
export function unswept({ received, brought, swept, fees }: DepositAsset): bigint {
  return received + brought - swept - fees;
}

/**
 * Rows (address, symbol, what, amount, unmatched) up to `height`: verified transfers, fee top-ups, and negative amounts
 * for sweeps and fees (on SUI the hot wallet pays them). Their sum is the recorded balance, independent of the ledger.
 */
export function depositMovements(
  { chain, family, nativeSymbol }: Network,
  height: number,
): RawBuilder<unknown> {
  const sent = sql`own_transaction_fate f join own_transaction x on x.chain = f.chain and x.tx_hash = f.tx_hash`;
  const moved = sql`${sent} join movement m on m.order_pk = x.order_pk`;
  const inBlock = sql`f.chain = ${chain} and f.state <> 'ORPHANED' and f.block_height <= ${height}`;
  return sql`
    select t.to_address as address, t.symbol, 'RECEIVED' as what, t.amount,
        case when exists (select from unmatched_deposit u where u.transfer_id = t.transfer_id and not u.withdrawn)
          and not exists (select from transfer_settlement s where s.transfer_id = t.transfer_id and s.credited)
          then t.amount else 0 end as unmatched
      from transfer t join deposit_address d on d.family = t.family and d.address = t.to_address
      where t.family = ${family} and t.chain = ${chain} and t.state = 'VERIFIED' and t.block_height <= ${height}
    union all
    select x.wallet, o.symbol, 'SWEPT', -x.amount, 0 from ${moved} join orders o on o.order_pk = x.order_pk
      where ${inBlock} and m.kind = 'SWEEP' and f.succeeded and f.delivered > 0
    union all
    select x.wallet, ${nativeSymbol}, 'FEES', -f.network_fee, 0 from ${sent}
      join deposit_address d on d.family = x.family and d.address = x.wallet
      where ${inBlock} and x.family <> 'SUI'
    union all
    select x.to_address, ${nativeSymbol}, 'BROUGHT', f.delivered, 0 from ${moved}
      where ${inBlock} and m.kind = 'GAS_TOP_UP' and f.succeeded and f.delivered > 0`;
}

export const DEPOSIT_ASSET_SUMS = sql`
  coalesce(sum(l.amount) filter (where l.what = 'RECEIVED'), 0) as received,
  coalesce(sum(l.amount) filter (where l.what = 'BROUGHT'), 0) as brought,
  coalesce(-sum(l.amount) filter (where l.what = 'SWEPT'), 0) as swept,
  coalesce(-sum(l.amount) filter (where l.what = 'FEES'), 0) as fees,
  coalesce(sum(l.unmatched), 0) as unmatched`;
