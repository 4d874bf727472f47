import { sql, type RawBuilder } from 'kysely';
import type { Tx } from '@opentill/db/database';
import type { MovementKind } from '@opentill/db/sweep-tables';
import type { Chain } from '@opentill/domain/chains';
import type { BaseUnits } from '@opentill/domain/money';
import type { PayoutStatus } from '@opentill/domain/order-status';
import type { FateState, SigningState } from '@opentill/domain/settle-payout';
import type { FateRow, KnownPayout, LockedPayout, PayoutMoney, SettledFate } from './payout-rows.ts';
import type { LockOptions } from './lock-orders.ts';

/** Subquery that returns order_pk. */
export type PayoutSelection = RawBuilder<unknown>;

export function payoutsByKey(orderPks: readonly string[]): PayoutSelection {
  return sql`select unnest(${orderPks}::uuid[])`;
}

export function payoutsOfTransactions(chain: Chain, txHashes: readonly string[]): PayoutSelection {
  return sql`select order_pk from own_transaction
    where chain = ${chain} and tx_hash = any(${txHashes}::text[]) and order_pk is not null`;
}

interface LockedRow {
  order_pk: string;
  merchant_id: string;
  order_id: string;
  uid: string | null;
  status: PayoutStatus;
  reason: string | null;
  chain: Chain;
  symbol: string;
  contract_address: string | null;
  decimals: number;
  display_decimals: number;
  amount: bigint;
  actual_amount: BaseUnits | null;
  confirmations_required: number | null;
  notify_reverted: boolean;
  movement: MovementKind | null;
  traceparent: string | null;
}

export async function lockPayouts(
  tx: Tx,
  selection: PayoutSelection,
  { skipLocked = false }: LockOptions = {},
): Promise<readonly LockedPayout[]> {
  const { rows } = await sql<LockedRow>`
    select o.order_pk, o.merchant_id, o.order_id, o.uid, o.status, o.reason, o.chain, o.symbol, o.contract_address,
      o.decimals, o.display_decimals, o.amount, o.actual_amount, o.confirmations_required, m.notify_reverted,
      o.traceparent, v.kind as movement
    from orders o join merchant m on m.merchant_id = o.merchant_id left join movement v on v.order_pk = o.order_pk
    where o.order_type = 'PAYOUT' and o.order_pk in (${selection})
    order by o.order_pk
    for no key update of o ${skipLocked ? sql`skip locked` : sql``}`.execute(tx);
  return rows.map((row) => ({
    orderPk: row.order_pk,
    merchantId: row.merchant_id,
    orderId: row.order_id,
    uid: row.uid,
    orderType: 'PAYOUT',
    status: row.status,
    reason: row.reason,
    chain: row.chain,
    symbol: row.symbol,
    contractAddress: row.contract_address,
    decimals: row.decimals,
    displayDecimals: row.display_decimals,
    amount: row.amount,
    actualAmount: row.actual_amount,
    confirmationsRequired: row.confirmations_required,
    notifyReverted: row.notify_reverted,
    movement: row.movement,
    traceparent: row.traceparent,
  }));
}

/** By the database's clock; see expire_payouts(). */
export async function expireDue(tx: Tx, orderPks: readonly string[]): Promise<void> {
  if (orderPks.length === 0) return;
  await sql`select expire_payouts(${orderPks}::uuid[])`.execute(tx);
}

interface KnownRow {
  order_pk: string;
  signing: SigningState;
  signing_reason: string | null;
  sent: boolean;
  was: PayoutMoney;
  became: PayoutMoney;
  seen_height: number | null;
  last_sequence: number | null;
  /** Null in the single row of a payout without mined transactions; then all following columns are null too. */
  tx_hash: string | null;
  chain: Chain;
  wallet: string;
  to_address: string;
  amount: BaseUnits;
  state: FateState;
  succeeded: boolean;
  delivered: BaseUnits;
  network_fee: bigint;
  block_height: number | null;
  block_seconds: number | null;
  version: number;
  settled_version: number | null;
  updated_at: Date;
}

/** By order_pk; see settle_payout_money(). A payout that was never reserved is absent. */
export async function settleMoney(
  tx: Tx,
  orders: readonly LockedPayout[],
): Promise<ReadonlyMap<string, KnownPayout>> {
  // This query's snapshot is older than the function's, so it adds only columns that the order's lock protects.
  const { rows } = await sql<KnownRow>`
    select b.order_pk, (b.payout).state as signing, (b.payout).reason as signing_reason,
      (b.payout).first_sent_at is not null as sent, b.was, b.became, b.seen_height,
      (select max(n.sequence) from notification n where n.subject_id = b.order_pk) as last_sequence,
      (b.fate).tx_hash, (b.fate).chain, b.wallet, b.to_address, b.amount, (b.fate).state, (b.fate).succeeded,
      (b.fate).delivered, (b.fate).network_fee, (b.fate).block_height,
      floor(extract(epoch from (b.fate).block_time))::float8 as block_seconds, (b.fate).version,
      (select s.settled_version from own_transaction_settlement s
        where s.chain = (b.fate).chain and s.tx_hash = (b.fate).tx_hash) as settled_version,
      (b.fate).updated_at
    from settle_payout_money(${orders.map((order) => order.orderPk)}::uuid[]) b
    order by b.order_pk, (b.fate).block_height, (b.fate).tx_hash`.execute(tx);
  const known = new Map<string, KnownPayout & { readonly fates: FateRow[] }>();
  for (const row of rows) {
    const payout = known.get(row.order_pk) ?? {
      signing: row.signing,
      signingReason: row.signing_reason,
      sent: row.sent,
      was: row.was,
      became: row.became,
      seenHeight: row.seen_height ?? 0,
      lastSequence: row.last_sequence ?? 0,
      fates: [],
    };
    known.set(row.order_pk, payout);
    if (row.tx_hash !== null) payout.fates.push(toFate(row, row.tx_hash));
  }
  return known;
}

function toFate(row: KnownRow, txHash: string): FateRow {
  return {
    txHash,
    chain: row.chain,
    wallet: row.wallet,
    receiver: row.to_address,
    amount: row.amount,
    state: row.state,
    succeeded: row.succeeded,
    delivered: row.delivered,
    networkFee: row.network_fee,
    blockHeight: row.block_height ?? 0,
    blockTimeSeconds: row.block_seconds ?? 0,
    version: row.version,
    settledVersion: row.settled_version ?? 0,
    updatedAt: row.updated_at,
  };
}

/** Only the fee is booked. */
export async function loadCancels(
  tx: Tx,
  chain: Chain,
  txHashes: readonly string[],
): Promise<readonly SettledFate[]> {
  const { rows } = await sql<SettledFate>`
    select f.chain, f.tx_hash as "txHash", f.version
    from own_transaction t join own_transaction_fate f on f.chain = t.chain and f.tx_hash = t.tx_hash
    where t.chain = ${chain} and t.tx_hash = any(${txHashes}::text[]) and t.order_pk is null`.execute(tx);
  return rows;
}

/** See settle_network_fees(). */
export async function settleFees(
  tx: Tx,
  fates: readonly SettledFate[],
  nativeSymbolOf: (chain: Chain) => string,
): Promise<void> {
  if (fates.length === 0) return;
  const given = fates.map((fate) => ({ ...fate, nativeSymbol: nativeSymbolOf(fate.chain) }));
  await sql`select settle_network_fees(${JSON.stringify(given)}::jsonb)`.execute(tx);
}
