import type pg from 'pg';

/** Merchant with 20 old orders only, for pages that look for few rows among many. */
export const RARE_MERCHANT = 'rare';

export interface FilledOrders {
  /** Created within the last day, expire from 2 hours on, one after the other. */
  readonly open: number;
  /** Ended, of the last 100 days: 80 % paid, one of 1,000 failed, the others expired. */
  readonly old: number;
}

/**
 * Adds collections of ETH_SEPOLIA to a database that has one merchant, with callbacks, transfers and postings. Triggers
 * and foreign keys are off meanwhile. Call it once per database.
 */
export async function fillOrders(database: pg.Pool, orders: FilledOrders): Promise<void> {
  const client = await database.connect();
  try {
    for (const statement of statementsOf(orders)) await client.query(statement);
  } finally {
    client.release(true);
  }
}

/** Of no devnet block, so that no reorganisation finds them missing. */
const FIRST_HEIGHT = 1_000_000_000;
const FIRST_INDEX = 1_000_000_000;
const TOKEN = `'0xdec0600000000000000000000000000000000000'`;
/** A UUID of version 7 with this time. */
const idAt = (time: string) =>
  `(substr(uuid_at(${time})::text, 1, 15) || substr(gen_random_uuid()::text, 16))::uuid`;
const hex = (text: string, characters: number) =>
  `'0x' || substr(md5(${text}) || md5(${text} || 'x'), 1, ${characters})`;

function statementsOf({ open, old }: FilledOrders): readonly string[] {
  return [
    `set session_replication_role = replica`,
    `set synchronous_commit = off`,
    `set statement_timeout = 0`,
    ...ordersOf(open, old),
    ...callbacksOf(),
    ...paymentsOf(),
    `drop table o`,
    `reset session_replication_role`,
    `vacuum analyze`,
  ];
}

function ordersOf(open: number, old: number): readonly string[] {
  return [
    `create temp table o as
      select n, ${idAt('t')} as pk, t, ${hex('n::text', 40)} as address,
        case when n > ${old} then 'INIT' when n % 1000 = 0 then 'FAILED' when n % 5 = 0 then 'EXPIRED' else 'SUCCESS' end as status,
        case when n <= least(20, ${old}) then '${RARE_MERCHANT}' else (select merchant_id from merchant) end as merchant
      from generate_series(1, ${old + open}) n, lateral (select case
        when n > ${old} then now() - interval '1 day' + (n - ${old}) * interval '1 day' / ${Math.max(1, open)}
        else now() - interval '100 days' + n * interval '98 days' / ${Math.max(1, old)} end as t) made`,
    `insert into merchant (merchant_id, name, version, token_sealed, webhook_secret_sealed)
      values ('${RARE_MERCHANT}', 'rare', 'V3', '', '')`,
    `insert into orders (order_pk, merchant_id, order_id, order_type, uid, status, chain, family, symbol, contract_address,
        decimals, display_decimals, amount, accepted_amount, detected_amount, actual_amount, address, confirmations_required,
        created_at, expires_at, updated_at)
      select pk, merchant, 'shop-' || n, 'COLLECTION', 'user-' || n % 50000, status, 'ETH_SEPOLIA', 'EVM', 'USDT', ${TOKEN}, 6, 2,
        12500000, 12500000, case status when 'SUCCESS' then 12500000 else 0 end, case status when 'SUCCESS' then 12500000 end,
        address, 3, t, t + interval '26 hours', t + interval '1 minute' from o order by n`,
    `insert into deposit_address (family, address, derivation_index, order_pk, created_at)
      select 'EVM', address, ${FIRST_INDEX} + n, pk, t from o order by n`,
  ];
}

function callbacksOf(): readonly string[] {
  return [
    `create temp table note as
      select pk, s, ${idAt('at')} as id, at from o,
        generate_series(1, case status when 'INIT' then 1 when 'SUCCESS' then 3 else 2 end) s,
        lateral (select t + s * interval '20 seconds' as at) sent`,
    `insert into notification (event_id, merchant_id, subject_id, sequence, notify_type, data, occurred_at, created_at)
      select id, merchant, pk, s,
        case when s = 1 then 'ORDER_PENDING' when s = 3 or status <> 'SUCCESS' then 'ORDER_' || status else 'ORDER_PENDING_CONFIRMATION' end,
        json_build_object('orderId', 'shop-' || n, 'orderType', 'COLLECTION', 'status', 'INIT', 'chain', 'ETH_SEPOLIA',
          'symbol', 'USDT', 'amount', '12.50', 'address', address, 'transaction', null, 'actualAmount', null,
          'uid', 'user-' || n % 50000, 'contract', ${TOKEN}, 'reason', null)::text, at, at from note join o using (pk)`,
    `insert into delivery (event_id, merchant_id, subject_id, sequence, state, attempts, next_attempt_at, created_at, finished_at)
      select id, merchant, pk, s, 'DELIVERED', 1, at, at, at + interval '1 second' from note join o using (pk)`,
    `insert into delivery_attempt (event_id, attempt, started_at, duration_ms, status_code) select id, 1, at, 12, 200 from note`,
    `drop table note`,
  ];
}

function paymentsOf(): readonly string[] {
  return [
    `delete from o where status <> 'SUCCESS'`,
    `insert into transfer (chain, family, tx_hash, position, contract_address, symbol, from_address, to_address, amount,
        block_height, block_hash, block_time, first_block_time, state, detected_at, verified_at, updated_at)
      select 'ETH_SEPOLIA', 'EVM', ${hex(`n || 't'`, 64)}, 'log:0', ${TOKEN}, 'USDT', ${hex(`n || 'f'`, 40)}, address, 12500000,
        ${FIRST_HEIGHT} + n / 20, ${hex(`n / 20 || 'b'`, 64)}, t, t, 'VERIFIED', t, t, t from o order by n`,
    `insert into transfer_settlement (transfer_id, settled_version, order_pk, booked_amount, booked_symbol, bookings, credited, updated_at)
      select transfer_id, 1, pk, 12500000, 'USDT', 1, true, t from o join transfer on to_address = address`,
    `insert into collection_sum (order_pk, in_time, verified_in_time) select pk, 12500000, 12500000 from o`,
    `insert into collection_height_sum (order_pk, block_height, verified_in_time)
      select pk, ${FIRST_HEIGHT} + n / 20, 12500000 from o`,
    `insert into deposit_balance (chain, address, symbol, family, contract_address, order_pk, received, swept, since)
      select 'ETH_SEPOLIA', address, 'USDT', 'EVM', ${TOKEN}, pk, 12500000, 12500000, t from o`,
    `insert into ledger_transaction (ref, kind, order_pk, created_at)
      select k || ':' || pk, k, pk, t from o, (values ('DEPOSIT'), ('CREDIT')) v(k) order by n`,
    `insert into ledger_posting (ledger_tx_id, account_id, amount)
      select ledger_tx_id, a.account_id, case a.kind when 'DEPOSIT' then 12500000 else -12500000 end
      from ledger_transaction join o on pk = order_pk, ledger_account a
      where a.chain = 'ETH_SEPOLIA' and a.symbol = 'USDT' and a.kind in ('DEPOSIT', 'MERCHANT')`,
  ];
}
