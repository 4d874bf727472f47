/**
 * The ledger follows facts: these functions are told which payouts, fees or deposits to look at, never what to book. So
 * whoever calls them, however often and in whatever order, can do nothing but bring the ledger in line with the chain.
 */
export const PAYOUT_MONEY = `
-- Moves the amount of each payout to where the facts say it is:
--   RESERVED   nothing was sent                             RELEASED  refused or expired, unsent
--   IN_FLIGHT  a broadcast was attempted, or was seen       PAID_OUT  a transaction of it is verified and delivered
--   RETURNED   a transaction of it is verified and failed
-- and back to IN_FLIGHT should a reorganisation take a verified one back. All postings are one statement, so that the
-- accounts that payments share are locked in one order. @returns what moved.
create or replace function settle_payout_money(p_order_pks uuid[]) returns table (order_pk uuid, was text, became text)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
begin
  perform from payout p where p.order_pk = any(p_order_pks) order by p.order_pk for no key update;
  return query
  with fact as (
    select p.order_pk, p.money, p.money_round, case
        when bool_or(f.state = 'VERIFIED' and f.succeeded and f.delivered > 0) then 'PAID_OUT'
        when bool_or(f.state = 'VERIFIED') then 'RETURNED'
        when p.first_sent_at is not null or count(f.tx_hash) > 0 then 'IN_FLIGHT'
        when p.state in ('REFUSED', 'EXPIRED') then 'RELEASED'
        else 'RESERVED' end as target
    from payout p left join own_transaction t on t.order_pk = p.order_pk
      left join own_transaction_fate f on f.chain = t.chain and f.tx_hash = t.tx_hash
    where p.order_pk = any(p_order_pks)
    group by p.order_pk
  ), path (from_money, to_money, place, kind, debit, credit, rounds) as (values
    ('RESERVED', 'RELEASED', 1, 'RELEASE', 'HOT_AVAILABLE', 'HOT_RESERVED', 0),
    ('RESERVED', 'IN_FLIGHT', 1, 'PAYOUT_SENT', 'IN_FLIGHT', 'HOT_RESERVED', 0),
    ('RESERVED', 'PAID_OUT', 1, 'PAYOUT_SENT', 'IN_FLIGHT', 'HOT_RESERVED', 0),
    ('RESERVED', 'PAID_OUT', 2, 'PAYOUT', 'PAID_OUT', 'IN_FLIGHT', 0),
    ('RESERVED', 'RETURNED', 1, 'PAYOUT_SENT', 'IN_FLIGHT', 'HOT_RESERVED', 0),
    ('RESERVED', 'RETURNED', 2, 'PAYOUT_RETURNED', 'HOT_AVAILABLE', 'IN_FLIGHT', 0),
    ('IN_FLIGHT', 'PAID_OUT', 1, 'PAYOUT', 'PAID_OUT', 'IN_FLIGHT', 0),
    ('IN_FLIGHT', 'RETURNED', 1, 'PAYOUT_RETURNED', 'HOT_AVAILABLE', 'IN_FLIGHT', 0),
    ('PAID_OUT', 'IN_FLIGHT', 1, 'PAYOUT_REVERSED', 'IN_FLIGHT', 'PAID_OUT', 0),
    ('PAID_OUT', 'RETURNED', 1, 'PAYOUT_REVERSED', 'IN_FLIGHT', 'PAID_OUT', 0),
    ('PAID_OUT', 'RETURNED', 2, 'PAYOUT_RETURNED', 'HOT_AVAILABLE', 'IN_FLIGHT', 1),
    ('RETURNED', 'IN_FLIGHT', 1, 'PAYOUT_RETURN_REVERSED', 'IN_FLIGHT', 'HOT_AVAILABLE', 0),
    ('RETURNED', 'PAID_OUT', 1, 'PAYOUT_RETURN_REVERSED', 'IN_FLIGHT', 'HOT_AVAILABLE', 0),
    ('RETURNED', 'PAID_OUT', 2, 'PAYOUT', 'PAID_OUT', 'IN_FLIGHT', 1)
  ), step as (
    select o.order_pk, o.merchant_id, o.chain, o.symbol, o.amount, x.place, x.kind, x.debit, x.credit,
      lower(replace(x.kind, '_', '-')) || ':' || o.order_pk || ':' || (f.money_round + x.rounds) as ref
    from fact f join path x on x.from_money = f.money and x.to_money = f.target join orders o using (order_pk)
  ), line as (
    select ref, kind as tx_kind, debit as kind, chain, symbol, merchant_id, amount from step
    union all select ref, kind, credit, chain, symbol, merchant_id, -amount from step
  ), account as materialized (
    select a.*, ledger_account_for(a.kind, a.chain, a.symbol, a.merchant_id) as account_id
    from (select distinct kind, chain, symbol, case when kind <> 'HOT_AVAILABLE' then merchant_id end as merchant_id
      from line order by kind, chain, symbol, merchant_id) a
  ), written as (
    insert into ledger_transaction (ref, kind, order_pk)
    select s.ref, s.kind, s.order_pk from step s order by s.order_pk, s.place returning ledger_tx_id, ref
  ), posted as (
    insert into ledger_posting (ledger_tx_id, account_id, amount)
    select w.ledger_tx_id, a.account_id, l.amount
    from line l join written w on w.ref = l.ref
      join account a on a.kind = l.kind and a.chain = l.chain and a.symbol = l.symbol
        and a.merchant_id is not distinct from case when l.kind <> 'HOT_AVAILABLE' then l.merchant_id end
  )
  update payout p set money = f.target,
      money_round = f.money_round + (f.money in ('PAID_OUT', 'RETURNED'))::integer
    from fact f
    where p.order_pk = f.order_pk and f.target <> f.money
      and exists (select from path x where x.from_money = f.money and x.to_money = f.target)
    returning p.order_pk, f.money, f.target;
end $$;
revoke all on function settle_payout_money(uuid[]) from public;

-- Books the fee of each own transaction exactly while its fate is VERIFIED, as what it is now. p_fates: a list of
-- {chain, txHash, nativeSymbol, version}; the version is the one that the caller has settled with this.
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
    select 'network-fee-reversed:' || chain || ':' || tx_hash || ':' || bookings as ref, 'NETWORK_FEE_REVERSED' as kind, order_pk, chain,
      booked_symbol as symbol, -booked_fee as fee, 1 as place
    from changed where booked_fee is not null
    union all
    select 'network-fee:' || chain || ':' || tx_hash || ':' || (bookings + 1), 'NETWORK_FEE', order_pk, chain, symbol, fee, 2
    from changed where fee is not null
  ), account as materialized (
    select a.*, ledger_account_for('NETWORK_FEE', a.chain, a.symbol, null) as spent, ledger_account_for('HOT_GAS', a.chain, a.symbol, null) as gas
    from (select distinct chain, symbol from entry order by chain, symbol) a
  ), written as (
    insert into ledger_transaction (ref, kind, order_pk) select ref, kind, order_pk from entry order by place, ref returning ledger_tx_id, ref
  ), posted as (
    insert into ledger_posting (ledger_tx_id, account_id, amount)
    select w.ledger_tx_id, l.account_id, l.amount
    from entry e join written w using (ref) join account a using (chain, symbol),
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
revoke all on function settle_network_fees(jsonb) from public;
`;

/** What comes into the hot wallets. */
export const HOT_WALLET_DEPOSITS = `
-- Books each transfer to a hot wallet as the operator's exactly while it is VERIFIED, as what it is now, and remembers it as
-- settled. From another hot wallet, or by an own transaction, nothing was brought. What was booked of it by hand
-- (book_top_up) is reversed: the chain knows better. p_transfers: a list of {transferId, version}, the version that the caller read.
-- @returns of those whose booking changed: what stands now, and what was taken back.
create or replace function settle_hot_wallet_deposits(p_transfers jsonb)
returns table (transfer_id bigint, chain text, symbol text, booked numeric, taken_back numeric)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare v_ids bigint[];
begin
  select array_agg(distinct r."transferId") into v_ids from jsonb_to_recordset(p_transfers) as r ("transferId" bigint);
  insert into transfer_settlement (transfer_id, settled_version)
    select t.transfer_id, 0 from transfer t join hot_wallet w on w.family = t.family and w.address = t.to_address
    where t.transfer_id = any(v_ids) and not exists (select from deposit_address d where d.family = t.family and d.address = t.to_address)
    order by 1 on conflict do nothing;
  perform from transfer_settlement s where s.transfer_id = any(v_ids) and s.order_pk is null order by s.transfer_id for update;
  -- The asset's account, as book_top_up() does: so that one of both sees what the other booked.
  perform from ledger_account where account_id in (
      select ledger_account_for('HOT_AVAILABLE', a.chain, a.symbol, null)
      from (select distinct t.chain, t.symbol from transfer t where t.transfer_id = any(v_ids) and t.state = 'VERIFIED'
          and exists (select from hot_wallet w where w.family = t.family and w.address = t.to_address) order by 1, 2) a)
    order by account_id for no key update;
  return query
  with fact as (
    select t.transfer_id, t.chain, t.tx_hash, t.position, s.booked_amount, s.booked_symbol, s.bookings, here.arrived,
      case when here.arrived then r.version else 0 end as version,
      case when here.arrived and here.brought and t.state = 'VERIFIED' then t.amount end as amount,
      case when here.arrived and here.brought and t.state = 'VERIFIED' then t.symbol end as symbol
    from (select distinct on ("transferId") * from jsonb_to_recordset(p_transfers) as given ("transferId" bigint, version integer)
          order by "transferId", version desc) r
      join transfer t on t.transfer_id = r."transferId"
      join transfer_settlement s on s.transfer_id = t.transfer_id and s.order_pk is null
      cross join lateral (select
        exists (select from hot_wallet w where w.family = t.family and w.address = t.to_address)
          and not exists (select from deposit_address d where d.family = t.family and d.address = t.to_address) as arrived,
        not exists (select from hot_wallet w where w.family = t.family and w.address = t.from_address)
          and not exists (select from own_transaction o where o.chain = t.chain and o.tx_hash = t.tx_hash) as brought) here
  ), changed as (
    select * from fact f where (f.booked_amount, f.booked_symbol) is distinct from (f.amount, f.symbol)
  ), by_hand as (
    select distinct l.ledger_tx_id, l.ref from changed c join ledger_transaction l
      on l.ref in ('top-up:' || c.chain || ':' || c.tx_hash || ':' || c.symbol, 'top-up:' || c.chain || ':' || c.tx_hash || ':' || c.position)
    where c.amount is not null and not exists (select from ledger_transaction b where b.ref = 'top-up-replaced:' || substr(l.ref, 8))
  ), entry as (
    select 'top-up-replaced:' || substr(h.ref, 8) as ref, 'TOP_UP_REVERSED' as kind, 1 as place, h.ledger_tx_id as reverses,
      null::text as chain, null::text as symbol, null::numeric as amount
    from by_hand h
    union all
    select 'top-up-reversed:' || c.transfer_id || ':' || c.bookings, 'TOP_UP_REVERSED', 2, null, c.chain, c.booked_symbol, -c.booked_amount
    from changed c where c.booked_amount is not null
    union all
    select 'top-up-seen:' || c.transfer_id || ':' || (c.bookings + 1), 'TOP_UP', 3, null, c.chain, c.symbol, c.amount
    from changed c where c.amount is not null
  ), account as materialized (
    select a.*, ledger_account_for('HOT_AVAILABLE', a.chain, a.symbol, null) as hot, ledger_account_for('OWNER', a.chain, a.symbol, null) as owner
    from (select distinct e.chain, e.symbol from entry e where e.chain is not null order by 1, 2) a
  ), written as (
    insert into ledger_transaction (ref, kind) select e.ref, e.kind from entry e order by e.place, e.ref returning ledger_tx_id, ref
  ), posted as (
    insert into ledger_posting (ledger_tx_id, account_id, amount)
    select w.ledger_tx_id, l.account_id, l.amount
    from entry e join written w using (ref) join account a on a.chain = e.chain and a.symbol = e.symbol,
      lateral (values (a.hot, e.amount), (a.owner, -e.amount)) as l (account_id, amount)
    union all
    select w.ledger_tx_id, p.account_id, -p.amount
    from entry e join written w using (ref) join ledger_posting p on p.ledger_tx_id = e.reverses
  ), settled as (
    update transfer_settlement s set settled_version = f.version, booked_amount = f.amount, booked_symbol = f.symbol,
      bookings = s.bookings + ((f.booked_amount, f.booked_symbol) is distinct from (f.amount, f.symbol) and f.amount is not null)::integer,
      updated_at = now()
    from fact f where s.transfer_id = f.transfer_id
  )
  select c.transfer_id, c.chain, coalesce(c.booked_symbol, c.symbol), c.amount, c.booked_amount from changed c;
end $$;
revoke all on function settle_hot_wallet_deposits(jsonb) from public;
`;
