/** Which bookings a transfer is part of. */
export const MATCHING = `
-- The open booking of the whole balance that a transfer up to this block is part of: the first one after p_after, and where
-- that was reversed the first one after its reversal. Ledger transactions of an asset are numbered under its lock.
create or replace function covering_booking(p_chain text, p_symbol text, p_height bigint, p_after bigint) returns bigint
language plpgsql stable security definer set search_path = public, pg_temp as $$
declare v hand_booking; v_after bigint := p_after;
begin
  loop
    select * into v from hand_booking b
      where b.chain = p_chain and b.symbol = p_symbol and b.covers_all and b.as_of_height >= p_height and b.ledger_tx_id > v_after
      order by b.ledger_tx_id limit 1;
    if not found then return null; elsif v.ended_by is null then return v.ledger_tx_id; end if;
    v_after := v.ended_by;
  end loop;
end $$;
revoke all on function covering_booking(text, text, bigint, bigint) from public;

-- The open bookings that a transfer to a hot wallet is part of, and how much of it: after its own last reversal, and without
-- bookings that were measured while its transaction was booked by hand, since the measure then had it apart.
create or replace function hand_bookings_of(p_transfer_id bigint) returns table (ledger_tx_id bigint, amount numeric)
language plpgsql stable security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare t transfer; b hand_booking; v_after bigint; v_cover bigint; v_left numeric; v_refs text[];
begin
  select * into t from transfer where transfer_id = p_transfer_id;
  if not exists (select from hand_booking h
    where h.chain = t.chain and h.symbol = t.symbol and h.as_of_height >= t.block_height and h.ended_by is null) then return; end if;
  v_refs := array[t.chain || ':' || t.tx_hash || ':' || t.symbol, t.chain || ':' || t.tx_hash || ':' || t.position];
  select coalesce(max(l.ledger_tx_id), 0) into v_after from transfer_settlement s,
    lateral generate_series(1, s.bookings) as n join ledger_transaction l on l.ref = 'top-up-reversed:' || p_transfer_id || ':' || n
    where s.transfer_id = p_transfer_id;
  v_cover := covering_booking(t.chain, t.symbol, t.block_height, v_after);
  if v_cover is not null and not exists (select from hand_booking h
    where h.ref = any (v_refs) and h.ledger_tx_id < v_cover and (h.ended_by is null or h.ended_by > v_cover)) then
    return query select v_cover, t.amount;
    return;
  end if;
  if exists (select from hand_booking h where h.ref = any (v_refs)) then return; end if;
  v_left := t.amount;
  for b in select * from hand_booking h
    where h.chain = t.chain and h.symbol = t.symbol and not h.covers_all and h.ended_by is null and h.as_of_height >= t.block_height
      and h.ledger_tx_id > v_after and h.matched < h.amount order by h.ledger_tx_id loop
    exit when v_left = 0;
    return query select b.ledger_tx_id, least(v_left, b.amount - b.matched);
    v_left := v_left - least(v_left, b.amount - b.matched);
  end loop;
end $$;
revoke all on function hand_bookings_of(bigint) from public;
grant execute on function hand_bookings_of(bigint) to opentill_ops;

-- What is booked as coin for fees of an asset goes to HOT_AVAILABLE: as much as HOT_GAS holds above zero, so never twice.
create or replace function make_gas_payable(p_chain text, p_symbol text) returns numeric
language plpgsql security definer set search_path = public, pg_temp as $$
declare v_hot bigint; v_gas bigint; v_amount numeric; v_tx bigint;
begin
  if not exists (select from ledger_account where kind = 'HOT_GAS' and chain = p_chain and symbol = p_symbol and balance > 0) then
    return 0;
  end if;
  v_hot := ledger_account_for('HOT_AVAILABLE', p_chain, p_symbol, null);
  perform from ledger_account where account_id = v_hot for no key update;
  select account_id, balance into v_gas, v_amount from ledger_account
    where kind = 'HOT_GAS' and chain = p_chain and symbol = p_symbol for no key update;
  if v_amount <= 0 then return 0; end if;
  insert into ledger_transaction (ref, kind) values ('gas-payable:' || p_chain || ':' || p_symbol || ':' || gen_random_uuid(), 'TOP_UP_REVERSED')
    returning ledger_tx_id into v_tx;
  insert into ledger_posting (ledger_tx_id, account_id, amount) values (v_tx, v_hot, v_amount), (v_tx, v_gas, -v_amount);
  return v_amount;
end $$;
revoke all on function make_gas_payable(text, text) from public;
grant execute on function make_gas_payable(text, text) to opentill_tracker;
`;

/** The booking of transfers to hot wallets. */
export const SETTLING = `
-- As before. A transfer that is part of a booking by hand is booked, and its amount taken from that booking: the sum stays. All
-- of it at HOT_AVAILABLE: coin that was booked for fees goes there afterwards, since what the scanner records is an asset.
create or replace function settle_hot_wallet_deposits(p_transfers jsonb)
returns table (transfer_id bigint, chain text, symbol text, booked numeric, taken_back numeric)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare v_ids bigint[]; v_changed jsonb; v_new record; v_part record; v_tx bigint; v_round integer;
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
    select distinct b.ledger_tx_id, l.ref, b.chain, b.symbol, b.amount - b.matched as amount
    from changed c join hand_booking b
      on b.ref in (c.chain || ':' || c.tx_hash || ':' || c.symbol, c.chain || ':' || c.tx_hash || ':' || c.position)
      join ledger_transaction l using (ledger_tx_id)
    where c.amount is not null and b.ended_by is null and b.matched < b.amount
  ), entry as (
    select 'top-up-replaced:' || substr(h.ref, 8) as ref, 'TOP_UP_REVERSED' as kind, 1 as place, h.chain, h.symbol, -h.amount as amount
    from by_hand h
    union all
    select 'top-up-reversed:' || c.transfer_id || ':' || c.bookings, 'TOP_UP_REVERSED', 2, c.chain, c.booked_symbol, -c.booked_amount
    from changed c where c.booked_amount is not null
    union all
    select 'top-up-seen:' || c.transfer_id || ':' || (c.bookings + 1), 'TOP_UP', 3, c.chain, c.symbol, c.amount
    from changed c where c.amount is not null
  ), account as materialized (
    select a.*, ledger_account_for('HOT_AVAILABLE', a.chain, a.symbol, null) as hot, ledger_account_for('OWNER', a.chain, a.symbol, null) as owner
    from (select distinct e.chain, e.symbol from entry e order by 1, 2) a
  ), written as (
    insert into ledger_transaction (ref, kind) select e.ref, e.kind from entry e order by e.place, e.ref returning ledger_tx_id, ref
  ), posted as (
    insert into ledger_posting (ledger_tx_id, account_id, amount)
    select w.ledger_tx_id, l.account_id, l.amount
    from entry e join written w using (ref) join account a on a.chain = e.chain and a.symbol = e.symbol,
      lateral (values (a.hot, e.amount), (a.owner, -e.amount)) as l (account_id, amount)
  ), replaced as (
    update hand_booking b set ended_by = w.ledger_tx_id
    from by_hand h join written w on w.ref = 'top-up-replaced:' || substr(h.ref, 8) where b.ledger_tx_id = h.ledger_tx_id
  ), settled as (
    update transfer_settlement s set settled_version = f.version, booked_amount = f.amount, booked_symbol = f.symbol,
      bookings = s.bookings + ((f.booked_amount, f.booked_symbol) is distinct from (f.amount, f.symbol) and f.amount is not null)::integer,
      updated_at = now()
    from fact f where s.transfer_id = f.transfer_id
  )
  select jsonb_agg(to_jsonb(c)) into v_changed from changed c;
  for v_new in select * from jsonb_to_recordset(v_changed) as c (transfer_id bigint, chain text, symbol text, amount numeric)
    where c.amount is not null order by c.transfer_id loop
    select s.bookings into v_round from transfer_settlement s where s.transfer_id = v_new.transfer_id;
    for v_part in select * from hand_bookings_of(v_new.transfer_id) loop
      insert into ledger_transaction (ref, kind)
        values ('top-up-matched:' || v_new.transfer_id || ':' || v_round || ':' || v_part.ledger_tx_id, 'TOP_UP_REVERSED')
        returning ledger_tx_id into v_tx;
      insert into ledger_posting (ledger_tx_id, account_id, amount) values
        (v_tx, ledger_account_for('HOT_AVAILABLE', v_new.chain, v_new.symbol, null), -v_part.amount),
        (v_tx, ledger_account_for('OWNER', v_new.chain, v_new.symbol, null), v_part.amount);
      update hand_booking b set matched = b.matched + v_part.amount where b.ledger_tx_id = v_part.ledger_tx_id;
    end loop;
  end loop;
  perform make_gas_payable(c.chain, c.symbol)
    from (select distinct chain, symbol from jsonb_to_recordset(v_changed) as c (chain text, symbol text, amount numeric)
      where c.amount is not null order by 1, 2) c;
  return query select c.transfer_id, c.chain, coalesce(c.booked_symbol, c.symbol), c.amount, c.booked_amount
    from jsonb_to_recordset(v_changed) as c (transfer_id bigint, chain text, symbol text, booked_symbol text, amount numeric, booked_amount numeric);
end $$;
`;
