-- Top-ups of the hot wallets by operators: bookings by hand, bookings from the chain, and their reconciliation.

create table hand_booking ( -- writers: book_brought_as_of(), reverse_top_up(), settle_hot_wallet_deposits()
  ledger_tx_id bigint primary key references ledger_transaction,
  ref text not null,
  chain text not null,
  symbol text not null,
  amount numeric(78, 0) not null check (amount > 0),
  as_of_height bigint check (as_of_height >= 0),
  covers_all boolean not null default false check (not covers_all or as_of_height is not null),
  matched numeric(78, 0) not null default 0 check (matched >= 0),
  ended_by bigint references ledger_transaction
);
comment on table hand_booking is 'Top-ups booked by an operator. ref: <chain>:<transaction>:<symbol>, or <chain>:gas-at-<height>-after-<brought>:<symbol>.';
comment on column hand_booking.as_of_height is 'The block at which the balance was read that covered the amount. Transfers up to this block may be part of it. Null: not checked.';
comment on column hand_booking.covers_all is 'The amount made ledger and chain equal at as_of_height: every transfer up to this block is part of it.';
comment on column hand_booking.matched is 'Amount of transfers that were scanned later and are part of it.';
comment on column hand_booking.ended_by is 'The ledger transaction that reversed it: the transfer of the same transaction was scanned, or an operator reversed it.';
create unique index hand_booking_open on hand_booking (ref) where ended_by is null;
create index hand_booking_ref on hand_booking (ref);
create index hand_booking_asset on hand_booking (chain, symbol, ledger_tx_id);

create table confirmed_balance ( -- writer: the trigger of hot_wallet_balance
  chain text not null,
  wallet text not null,
  symbol text not null,
  amount numeric(78, 0),
  block_height bigint,
  seen_at timestamptz,
  next_amount numeric(78, 0) not null,
  next_height bigint not null,
  next_hash text not null,
  next_seen_at timestamptz not null,
  primary key (chain, wallet, symbol),
  check ((amount is null) = (block_height is null) and (amount is null) = (seen_at is null))
);
comment on table confirmed_balance is 'Balances of the hot wallets at blocks that the scanner has verified since. next_*: the balance that waits for its block to be verified.';

create function confirm_balance() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare b confirmed_balance;
begin
  insert into confirmed_balance (chain, wallet, symbol, next_amount, next_height, next_hash, next_seen_at)
    values (new.chain, new.wallet, new.symbol, new.amount, new.block_height, new.block_hash, new.seen_at)
    on conflict (chain, wallet, symbol) do nothing;
  select * into b from confirmed_balance c where c.chain = new.chain and c.wallet = new.wallet and c.symbol = new.symbol for update;
  if not exists (select from chain_cursor c where c.chain = b.chain and c.verified_height >= b.next_height) then return null; end if;
  if not exists (select from block k where k.chain = b.chain and k.height = b.next_height and k.hash <> b.next_hash) then
    b.amount := b.next_amount; b.block_height := b.next_height; b.seen_at := b.next_seen_at;
  end if;
  update confirmed_balance c set amount = b.amount, block_height = b.block_height, seen_at = b.seen_at,
      next_amount = new.amount, next_height = new.block_height, next_hash = new.block_hash, next_seen_at = new.seen_at
    where c.chain = new.chain and c.wallet = new.wallet and c.symbol = new.symbol;
  return null;
end $$;
create trigger hot_wallet_balance_confirmed after insert or update on hot_wallet_balance
  for each row execute function confirm_balance();

-- True when the transfers of a top-up's transaction are or were booked from the chain.
create function is_top_up_scanned(p_ref text, p_chain text, p_symbol text) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
  select exists (
    select from transfer t join hot_wallet w on w.family = t.family and w.address = t.to_address join transfer_settlement s using (transfer_id)
    where t.chain = p_chain and t.symbol = p_symbol and t.tx_hash = split_part(p_ref, ':', 2)
      and split_part(p_ref, ':', 1) = p_chain and s.order_pk is null and s.bookings > 0)
$$;

-- Books a top-up of the hot wallet on the account of p_kind, with a row of hand_booking. p_ref is
-- <chain>:<transaction>:<symbol>, so a second booking has no effect. A booking of a transfer that
-- settle_hot_wallet_deposits() has booked has no effect either: both functions lock the asset's account first. A
-- reversed reference may be booked again: its ledger reference then ends with #2, #3, and so on. Returns true when
-- booked now.
create function book_brought_as_of(p_kind text, p_ref text, p_chain text, p_symbol text, p_amount numeric, p_as_of bigint)
returns boolean language plpgsql security definer set search_path = public, pg_temp as $$
declare v_tx bigint; v_account bigint; v_open hand_booking; v_ref text; v_height bigint;
begin
  if p_amount is null or p_amount <= 0 or p_amount <> trunc(p_amount) then
    raise exception 'a top-up is a positive whole number of base units' using errcode = 'check_violation';
  end if;
  perform from ledger_account where account_id = ledger_account_for('HOT_AVAILABLE', p_chain, p_symbol, null) for no key update;
  v_account := ledger_account_for(case p_kind when 'TOP_UP' then 'HOT_AVAILABLE' else 'HOT_GAS' end, p_chain, p_symbol, null);
  if is_top_up_scanned(p_ref, p_chain, p_symbol) then return false; end if;
  select * into v_open from hand_booking b where b.ref = p_ref and b.ended_by is null;
  if found then
    if (v_open.chain, v_open.symbol, v_open.amount) is distinct from (p_chain, p_symbol, p_amount)
      or not exists (select from ledger_transaction t where t.ledger_tx_id = v_open.ledger_tx_id and t.kind = p_kind) then
      raise exception 'the top-up % was booked with another amount or asset', p_ref using errcode = 'check_violation';
    end if;
    return false;
  end if;
  select 'top-up:' || p_ref || case when count(*) > 0 then '#' || count(*) + 1 else '' end into v_ref from hand_booking b where b.ref = p_ref;
  insert into ledger_transaction (ref, kind) values (v_ref, p_kind) on conflict (ref) do nothing returning ledger_tx_id into v_tx;
  if v_tx is null then -- another asset, booked concurrently
    raise exception 'the top-up % was booked with another amount or asset', p_ref using errcode = 'check_violation';
  end if;
  insert into ledger_posting (ledger_tx_id, account_id, amount) values
    (v_tx, v_account, p_amount), (v_tx, ledger_account_for('OWNER', p_chain, p_symbol, null), -p_amount);
  v_height := substring(p_ref from '^[^:]+:gas-at-([0-9]+)-after-')::bigint;
  insert into hand_booking (ledger_tx_id, ref, chain, symbol, amount, as_of_height, covers_all)
    values (v_tx, p_ref, p_chain, p_symbol, p_amount, coalesce(v_height, p_as_of), v_height is not null);
  return true;
end $$;

create function book_brought(p_kind text, p_ref text, p_chain text, p_symbol text, p_amount numeric) returns boolean
language sql security definer set search_path = public, pg_temp as $$ select book_brought_as_of(p_kind, p_ref, p_chain, p_symbol, p_amount, null) $$;

create function book_top_up(p_ref text, p_chain text, p_symbol text, p_amount numeric) returns boolean
language sql security definer set search_path = public, pg_temp as $$ select book_brought('TOP_UP', p_ref, p_chain, p_symbol, p_amount) $$;

-- Books native coin for fees if that coin is not a configured token, because then no scanner sees its transfers.
create function book_gas_top_up(p_ref text, p_chain text, p_symbol text, p_amount numeric) returns boolean
language sql security definer set search_path = public, pg_temp as $$ select book_brought('GAS_TOP_UP', p_ref, p_chain, p_symbol, p_amount) $$;

-- Returns the open booking of the whole balance that includes a transfer up to this block: the first one after
-- p_after, or, if that was reversed, the first one after its reversal. Ledger transactions of an asset are
-- numbered under its lock.
create function covering_booking(p_chain text, p_symbol text, p_height bigint, p_after bigint) returns bigint
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

-- Returns the open bookings that include a transfer to a hot wallet since its last reversal, with the included
-- amounts. Excludes bookings measured while the transfer's transaction was booked by hand, because the measurement
-- left it out.
create function hand_bookings_of(p_transfer_id bigint) returns table (ledger_tx_id bigint, amount numeric)
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

-- Moves the positive HOT_GAS balance of an asset to HOT_AVAILABLE. Idempotent.
create function make_gas_payable(p_chain text, p_symbol text) returns numeric
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

-- Books each transfer to a hot wallet as the operator's money while it is VERIFIED, with its current value, and
-- marks it settled. A transfer from another hot wallet or by an own transaction adds no money. A transfer included
-- in a booking by hand is booked, and its amount deducted from that booking, so that the sum stays. All of it goes
-- to HOT_AVAILABLE, and native coin booked for fees follows, because the scanner records it as an asset.
-- p_transfers: a list of {transferId, version}, with the version that the caller read. Returns the transfers whose
-- booking changed, with the new and the reversed amount.
create function settle_hot_wallet_deposits(p_transfers jsonb)
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
  -- Locks the asset's account like book_top_up(), so that the second of the two sees the booking of the first.
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

-- Amount that the chain must hold above the ledger's hot accounts at p_height, before any top-up: known but
-- unbooked transfers, sweeps on their way to a hot wallet, and money that left after p_height and is already
-- booked.
create function hot_money_beyond(p_chain text, p_symbol text, p_height bigint) returns numeric
language sql stable security definer set search_path = public, pg_temp as $$
  select coalesce((
      select sum(t.amount) from hot_wallet w join transfer t on t.family = w.family and t.to_address = w.address
        left join transfer_settlement s using (transfer_id)
      where t.chain = p_chain and t.symbol = p_symbol and t.state <> 'ORPHANED' and s.booked_amount is null
        and not exists (select from hot_wallet o where o.family = t.family and o.address = t.from_address)
        and not exists (select from own_transaction o where o.chain = t.chain and o.tx_hash = t.tx_hash)), 0)
    + coalesce((
      select sum(o.amount) from payout p join movement m using (order_pk) join orders o using (order_pk)
      where p.chain = p_chain and p.money = 'IN_FLIGHT' and m.kind = 'SWEEP' and m.target_kind = 'HOT_AVAILABLE' and o.symbol = p_symbol), 0)
    + coalesce((
      select sum(o.amount) from own_transaction_fate f join own_transaction x using (chain, tx_hash) join payout p using (order_pk)
        join orders o using (order_pk) join hot_wallet w on w.family = x.family and w.address = x.wallet
      where f.chain = p_chain and f.state <> 'ORPHANED' and f.block_height > p_height and f.succeeded and f.delivered > 0
        and p.money = 'PAID_OUT' and o.symbol = p_symbol), 0)
    + coalesce((
      select sum(s.booked_fee) from own_transaction_fate f join own_transaction_settlement s using (chain, tx_hash)
      where f.chain = p_chain and f.state <> 'ORPHANED' and f.block_height > p_height and s.booked_symbol = p_symbol), 0)
$$;

-- Books a top-up that the hot wallets' balances cover, read by the signer at blocks that are verified now.
-- outcome: BOOKED. BEFORE: booked before. SEEN: the scanner knows the transfer, which is booked when verified.
-- NO_BALANCE: no balance at a verified block of the last six hours. NOT_COVERED: `missing` is the amount that the
-- chain lacks.
create function book_covered_top_up(p_kind text, p_ref text, p_chain text, p_symbol text, p_amount numeric,
  out outcome text, out height bigint, out missing numeric)
language plpgsql security definer set search_path = public, pg_temp as $$
declare v_balance numeric; v_ledger numeric;
begin
  perform from ledger_account where account_id = ledger_account_for('HOT_AVAILABLE', p_chain, p_symbol, null) for no key update;
  if exists (select from hand_booking b where b.ref = p_ref and b.ended_by is null) then
    perform book_brought_as_of(p_kind, p_ref, p_chain, p_symbol, p_amount, null); -- rejects another amount
    outcome := 'BEFORE';
    return;
  end if;
  if is_top_up_scanned(p_ref, p_chain, p_symbol) then outcome := 'BEFORE'; return; end if;
  if exists (
    select from transfer t join hot_wallet w on w.family = t.family and w.address = t.to_address
    where t.chain = p_chain and t.symbol = p_symbol and t.tx_hash = split_part(p_ref, ':', 2) and t.state <> 'ORPHANED'
  ) then
    outcome := 'SEEN';
    return;
  end if;
  select sum(b.amount), min(b.block_height) into v_balance, height from confirmed_balance b
    join chain_family f on f.chain = b.chain join hot_wallet w on w.family = f.family and w.address = b.wallet
    where b.chain = p_chain and b.symbol = p_symbol and b.seen_at > clock_timestamp() - interval '6 hours';
  if height is null then outcome := 'NO_BALANCE'; return; end if;
  select coalesce(sum(balance), 0) into v_ledger from ledger_account
    where chain = p_chain and symbol = p_symbol and kind in ('HOT_AVAILABLE', 'HOT_RESERVED', 'IN_FLIGHT', 'HOT_GAS');
  missing := v_ledger + hot_money_beyond(p_chain, p_symbol, height) + p_amount - v_balance;
  if missing > 0 then outcome := 'NOT_COVERED'; return; end if;
  perform book_brought_as_of(p_kind, p_ref, p_chain, p_symbol, p_amount, height);
  outcome := 'BOOKED';
end $$;

-- Books a top-up that the caller measured at the block p_as_of, while OWNER had the balance p_owner. MOVED: a
-- deposit to the hot wallets was booked or reversed since. Other outcomes: BOOKED, BEFORE (booked before).
create function book_measured_top_up(p_kind text, p_ref text, p_chain text, p_symbol text, p_amount numeric, p_as_of bigint, p_owner numeric)
returns text language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform from ledger_account where account_id = ledger_account_for('HOT_AVAILABLE', p_chain, p_symbol, null) for no key update;
  if not is_top_up_scanned(p_ref, p_chain, p_symbol)
    and not exists (select from hand_booking b where b.ref = p_ref and b.ended_by is null) and p_owner is distinct from
    coalesce((select balance from ledger_account where kind = 'OWNER' and chain = p_chain and symbol = p_symbol), 0) then
    return 'MOVED';
  end if;
  return case when book_brought_as_of(p_kind, p_ref, p_chain, p_symbol, p_amount, p_as_of) then 'BOOKED' else 'BEFORE' end;
end $$;

-- Reverses the part of a booking by hand that no transfer was matched with. outcome: REVERSED. BEFORE: reversed
-- before. SEEN: its transfers were scanned. NOT_FOUND. UNCOVERED: reserved money would lose its cover, and the
-- balances of the last ten minutes do not show that the chain lacks the amount.
create function reverse_top_up(p_ref text, out outcome text, out chain text, out symbol text, out amount numeric)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare b hand_booking; v_kind text; v_hot bigint; v_gas numeric; v_free numeric; v_promised numeric; v_reserved numeric;
  v_balance numeric; v_height bigint; v_newer numeric; v_from_gas numeric; v_from_hot numeric; v_tx bigint;
begin
  select * into b from hand_booking h where h.ref = p_ref order by h.ended_by is null desc, h.ledger_tx_id desc limit 1;
  if not found then outcome := 'NOT_FOUND'; return; end if;
  v_hot := ledger_account_for('HOT_AVAILABLE', b.chain, b.symbol, null);
  perform from ledger_account a where a.account_id = v_hot for no key update;
  select h.* into b from hand_booking h where h.ledger_tx_id = b.ledger_tx_id;
  chain := b.chain; symbol := b.symbol; amount := b.amount - b.matched;
  if b.ended_by is not null then
    select case when t.ref like 'top-up-replaced:%' then 'SEEN' else 'BEFORE' end into outcome
      from ledger_transaction t where t.ledger_tx_id = b.ended_by;
    return;
  elsif amount <= 0 then
    outcome := 'SEEN';
    return;
  end if;
  select t.kind into v_kind from ledger_transaction t where t.ledger_tx_id = b.ledger_tx_id;
  perform from ledger_account a where a.chain = b.chain and a.symbol = b.symbol and a.kind in ('HOT_AVAILABLE', 'HOT_GAS')
    order by a.account_id for no key update;
  select coalesce(sum(a.balance) filter (where a.kind = 'HOT_GAS'), 0), coalesce(sum(a.balance) filter (where a.kind in ('HOT_AVAILABLE', 'HOT_GAS')), 0),
      coalesce(sum(a.balance) filter (where a.kind in ('HOT_RESERVED', 'IN_FLIGHT')), 0), coalesce(sum(a.balance) filter (where a.kind = 'HOT_RESERVED'), 0)
    into v_gas, v_free, v_promised, v_reserved from ledger_account a where a.chain = b.chain and a.symbol = b.symbol;
  if v_free < amount and v_promised > 0 then
    select sum(h.amount), min(h.block_height) into v_balance, v_height from hot_wallet_balance h
      where h.chain = b.chain and h.symbol = b.symbol having max(h.seen_at) > clock_timestamp() - interval '10 minutes';
    select coalesce(sum(s.booked_amount), 0) into v_newer from hot_wallet w join transfer t on t.family = w.family and t.to_address = w.address
      join transfer_settlement s using (transfer_id) where t.chain = b.chain and s.booked_symbol = b.symbol and t.block_height > v_height;
    -- In-flight money may have left already, so it is excluded.
    if v_balance is null or v_balance > v_free + v_reserved - amount - v_newer then outcome := 'UNCOVERED'; return; end if;
  end if;
  -- Native coin for fees that became payable is taken from its new account.
  v_from_hot := case when v_kind = 'TOP_UP' then amount else least(greatest(amount - greatest(v_gas, 0), 0), greatest(v_free - v_gas, 0)) end;
  v_from_gas := amount - v_from_hot;
  insert into ledger_transaction (ref, kind) values ('top-up-withdrawn:' || b.ledger_tx_id, 'TOP_UP_REVERSED') returning ledger_tx_id into v_tx;
  insert into ledger_posting (ledger_tx_id, account_id, amount)
    select v_tx, l.account_id, l.amount from (values
      (v_hot, -v_from_hot), (ledger_account_for('HOT_GAS', b.chain, b.symbol, null), -v_from_gas),
      (ledger_account_for('OWNER', b.chain, b.symbol, null), amount)) as l (account_id, amount) where l.amount <> 0;
  update hand_booking h set ended_by = v_tx where h.ledger_tx_id = b.ledger_tx_id;
  outcome := 'REVERSED';
end $$;
