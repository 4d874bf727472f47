/** Whose coin pays the fee of a sweep, where deposit addresses have none. */
export const SPONSORED_FEES = `
-- As before; on SUI the hot wallet pays for what leaves a deposit address, beside its own.
create or replace function settle_network_fees(p_fates jsonb) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
declare v_booked integer;
begin
  insert into own_transaction_settlement (chain, tx_hash)
    select f.chain, f.tx_hash from jsonb_to_recordset(p_fates) as r (chain text, "txHash" text)
      join own_transaction_fate f on f.chain = r.chain and f.tx_hash = r."txHash"
    order by 1, 2 on conflict do nothing;
  perform from own_transaction_settlement s
    where (s.chain, s.tx_hash) in (select r.chain, r."txHash" from jsonb_to_recordset(p_fates) as r (chain text, "txHash" text))
    order by s.chain, s.tx_hash for update;
  with fact as (
    select f.chain, f.tx_hash, t.order_pk, r.version, s.booked_fee, s.booked_symbol, s.bookings,
      case when t.family <> 'SUI' and exists (select from deposit_address d where d.family = t.family and d.address = t.wallet)
        then 'DEPOSIT_GAS' else 'HOT_GAS' end as payer,
      case when f.state = 'VERIFIED' and f.network_fee > 0 then f.network_fee end as fee,
      case when f.state = 'VERIFIED' and f.network_fee > 0 then r."nativeSymbol" end as symbol
    from (select distinct on (chain, "txHash") * from jsonb_to_recordset(p_fates) as given
          (chain text, "txHash" text, "nativeSymbol" text, version integer) order by chain, "txHash", version desc) r
      join own_transaction_fate f on f.chain = r.chain and f.tx_hash = r."txHash"
      join own_transaction t on t.chain = f.chain and t.tx_hash = f.tx_hash
      join own_transaction_settlement s on s.chain = f.chain and s.tx_hash = f.tx_hash
  ), changed as (
    select * from fact where (booked_fee, booked_symbol) is distinct from (fee, symbol)
  ), entry as (
    select 'network-fee-reversed:' || chain || ':' || tx_hash || ':' || bookings as ref, 'NETWORK_FEE_REVERSED' as kind, order_pk, chain, payer,
      booked_symbol as symbol, -booked_fee as fee, 1 as place
    from changed where booked_fee is not null
    union all
    select 'network-fee:' || chain || ':' || tx_hash || ':' || (bookings + 1), 'NETWORK_FEE', order_pk, chain, payer, symbol, fee, 2
    from changed where fee is not null
  ), account as materialized (
    select a.*, ledger_account_for('NETWORK_FEE', a.chain, a.symbol, null) as spent, ledger_account_for(a.payer, a.chain, a.symbol, null) as gas
    from (select distinct chain, symbol, payer from entry order by chain, symbol, payer) a
  ), written as (
    insert into ledger_transaction (ref, kind, order_pk) select ref, kind, order_pk from entry order by place, ref returning ledger_tx_id, ref
  ), posted as (
    insert into ledger_posting (ledger_tx_id, account_id, amount)
    select w.ledger_tx_id, l.account_id, l.amount
    from entry e join written w using (ref) join account a using (chain, symbol, payer),
      lateral (values (a.spent, e.fee), (a.gas, -e.fee)) as l (account_id, amount)
  ), settled as (
    update own_transaction_settlement s set settled_version = f.version, booked_fee = f.fee, booked_symbol = f.symbol,
      bookings = s.bookings + ((f.booked_fee, f.booked_symbol) is distinct from (f.fee, f.symbol) and f.fee is not null)::integer,
      updated_at = now()
    from fact f where s.chain = f.chain and s.tx_hash = f.tx_hash
  )
  select count(*) into v_booked from entry;
  return v_booked;
end $$;
`;
