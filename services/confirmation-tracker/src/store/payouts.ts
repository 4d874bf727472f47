import { sql, type RawBuilder } from 'kysely';
import type { Tx } from '@opentill/db/database';
import type { MovementKind } from '@opentill/db/sweep-tables';
import type { Chain } from '@opentill/domain/chains';
import type { BaseUnits } from '@opentill/domain/money';
import type { PayoutStatus } from '@opentill/domain/order-status';
import type { FateState, SigningState } from '@opentill/domain/settle-payout';
import type {
  FateRow,
  KnownPayout,
  LockedPayout,
  MovedMoney,
  PayoutMoney,
  SettledFate,
} from './payout-rows.ts';
import type { LockOptions } from './lock-orders.ts';

/** Which payouts to settle: a subquery that gives their order_pk. */
export type PayoutSelection = RawBuilder<unknown>;

export function payoutsByKey(orderPks: readonly string[]): PayoutSelection {
  return sql`select unnest(${orderPks}::uuid[])`;
}

/** The payouts that these transactions are of. */
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
}

/** Locks the orders of the selected payouts, as lockOrders does with collections. */
export async function lockPayouts(
  tx: Tx,
  selection: PayoutSelection,
  { skipLocked = false }: LockOptions = {},
): Promise<readonly LockedPayout[]> {
  const { rows } = await sql<LockedRow>`
    select o.order_pk, o.merchant_id, o.order_id, o.uid, o.status, o.reason, o.chain, o.symbol, o.contract_address,
      o.decimals, o.display_decimals, o.amount, o.actual_amount, o.confirmations_required, m.notify_reverted,
      v.kind as movement
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
  }));
}

/** Expires those whose time is up by the database's clock and that nobody signed; see expire_payouts(). */
export async function expireDue(tx: Tx, orderPks: readonly string[]): Promise<void> {
  if (orderPks.length === 0) return;
  await sql`select expire_payouts(${orderPks}::uuid[])`.execute(tx);
}

interface KnownRow {
  order_pk: string;
  signing: SigningState;
  signing_reason: string | null;
  sent: boolean;
  money: PayoutMoney;
  seen_height: number | null;
  last_sequence: number | null;
  /** Null in the one row of a payout that was in no block; then all that follows is null too. */
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

/** The facts of locked payouts, by order_pk; none of a payout without a row of its own, which was never reserved. */
export async function loadPayouts(
  tx: Tx,
  orders: readonly LockedPayout[],
): Promise<ReadonlyMap<string, KnownPayout>> {
  const { rows } = await sql<KnownRow>`
    select p.order_pk, p.state as signing, p.reason as signing_reason, p.first_sent_at is not null as sent, p.money, c.seen_height,
      (select max(n.sequence) from notification n where n.subject_id = p.order_pk) as last_sequence,
      f.tx_hash, f.chain, t.wallet, t.to_address, t.amount, f.state, f.succeeded, f.delivered, f.network_fee,
      f.block_height, floor(extract(epoch from f.block_time))::float8 as block_seconds, f.version, s.settled_version, f.updated_at
    from payout p
      left join chain_cursor c on c.chain = p.chain
      left join (own_transaction t join own_transaction_fate f on f.chain = t.chain and f.tx_hash = t.tx_hash)
        on t.order_pk = p.order_pk
      left join own_transaction_settlement s on s.chain = f.chain and s.tx_hash = f.tx_hash
    where p.order_pk = any(${orders.map((order) => order.orderPk)}::uuid[])
    order by p.order_pk, f.block_height, f.tx_hash`.execute(tx);
  const known = new Map<string, KnownPayout & { readonly fates: FateRow[] }>();
  for (const row of rows) {
    const payout = known.get(row.order_pk) ?? {
      signing: row.signing,
      signingReason: row.signing_reason,
      sent: row.sent,
      money: row.money,
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

/** Fates of transactions that pay nobody (a nonce that was filled): only their fee is to be booked. */
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

/** Brings the ledger in line with what is known of these payouts; see settle_payout_money(). */
export async function settleMoney(tx: Tx, orderPks: readonly string[]): Promise<readonly MovedMoney[]> {
  const { rows } = await sql<MovedMoney>`
    select order_pk as "orderPk", was, became from settle_payout_money(${orderPks}::uuid[])`.execute(tx);
  return rows;
}

/** Books the fees of these transactions, and remembers the versions as settled; see settle_network_fees(). */
export async function settleFees(
  tx: Tx,
  fates: readonly SettledFate[],
  nativeSymbolOf: (chain: Chain) => string,
): Promise<void> {
  if (fates.length === 0) return;
  const given = fates.map((fate) => ({ ...fate, nativeSymbol: nativeSymbolOf(fate.chain) }));
  await sql`select settle_network_fees(${JSON.stringify(given)}::jsonb)`.execute(tx);
}
