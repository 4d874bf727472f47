/** Where bookings by hand and confirmed balances are kept. */
export const TABLES = `
create table if not exists hand_booking ( -- writers: book_brought_as_of(), reverse_top_up(), settle_hot_wallet_deposits()
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
comment on table hand_booking is 'Top-ups that an operator booked. ref: <chain>:<transaction>:<symbol>, or <chain>:gas-at-<height>-after-<brought>:<symbol>.';
comment on column hand_booking.as_of_height is 'The block at which the balance was read that covered the amount. Transfers up to this block may be part of it. Null: not checked.';
comment on column hand_booking.covers_all is 'The amount made ledger and chain equal at as_of_height: every transfer up to this block is part of it.';
comment on column hand_booking.matched is 'Amount of transfers that were scanned later and are part of it.';
comment on column hand_booking.ended_by is 'The ledger transaction that reversed it: the transfer of the same transaction was scanned, or an operator reversed it.';
create unique index if not exists hand_booking_open on hand_booking (ref) where ended_by is null;
create index if not exists hand_booking_ref on hand_booking (ref);
create index if not exists hand_booking_asset on hand_booking (chain, symbol, ledger_tx_id);
grant select on hand_booking to opentill_ops;

create table if not exists confirmed_balance ( -- writer: the trigger of hot_wallet_balance
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

create or replace function confirm_balance() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
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
drop trigger if exists hot_wallet_balance_confirmed on hot_wallet_balance;
create trigger hot_wallet_balance_confirmed after insert or update on hot_wallet_balance
  for each row execute function confirm_balance();
`;

/** The booking itself. */
export const BOOKING = `
-- Whether the transfers of a top-up's transaction are booked from the chain, or were.
create or replace function is_top_up_scanned(p_ref text, p_chain text, p_symbol text) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
  select exists (
    select from transfer t join hot_wallet w on w.family = t.family and w.address = t.to_address join transfer_settlement s using (transfer_id)
    where t.chain = p_chain and t.symbol = p_symbol and t.tx_hash = split_part(p_ref, ':', 2)
      and split_part(p_ref, ':', 1) = p_chain and s.order_pk is null and s.bookings > 0)
$$;
revoke all on function is_top_up_scanned(text, text, text) from public;

-- As book_brought() before, with a row of hand_booking. A reference that was reversed may be booked again: its ledger reference
-- then ends with #2, #3, and so on.
create or replace function book_brought_as_of(p_kind text, p_ref text, p_chain text, p_symbol text, p_amount numeric, p_as_of bigint)
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
  if v_tx is null then -- another asset, booked at this moment
    raise exception 'the top-up % was booked with another amount or asset', p_ref using errcode = 'check_violation';
  end if;
  insert into ledger_posting (ledger_tx_id, account_id, amount) values
    (v_tx, v_account, p_amount), (v_tx, ledger_account_for('OWNER', p_chain, p_symbol, null), -p_amount);
  v_height := substring(p_ref from '^[^:]+:gas-at-([0-9]+)-after-')::bigint;
  insert into hand_booking (ledger_tx_id, ref, chain, symbol, amount, as_of_height, covers_all)
    values (v_tx, p_ref, p_chain, p_symbol, p_amount, coalesce(v_height, p_as_of), v_height is not null);
  return true;
end $$;
revoke all on function book_brought_as_of(text, text, text, text, numeric, bigint) from public;

create or replace function book_brought(p_kind text, p_ref text, p_chain text, p_symbol text, p_amount numeric) returns boolean
language sql security definer set search_path = public, pg_temp as $$ select book_brought_as_of(p_kind, p_ref, p_chain, p_symbol, p_amount, null) $$;
`;

/** Waits for bookings of before that are not committed yet, so that the next step finds them. */
export const BARRIER = 'do $$ begin lock table ledger_transaction in share row exclusive mode; end $$';

/** Bookings of before; again and again without harm. */
export const BACKFILL = `
insert into hand_booking (ledger_tx_id, ref, chain, symbol, amount, as_of_height, covers_all, ended_by)
  select t.ledger_tx_id, substr(t.ref, 8), a.chain, a.symbol, p.amount, h.height, h.height is not null, r.ledger_tx_id
  from ledger_transaction t join ledger_posting p using (ledger_tx_id)
    join ledger_account a on a.account_id = p.account_id and a.kind in ('HOT_AVAILABLE', 'HOT_GAS')
    left join ledger_transaction r on r.ref = 'top-up-replaced:' || substr(t.ref, 8),
    lateral (select substring(t.ref from '^top-up:[^:]+:gas-at-([0-9]+)-after-')::bigint as height) h
  where t.kind in ('TOP_UP', 'GAS_TOP_UP') and t.ref like 'top-up:%'
  on conflict (ledger_tx_id) do nothing;
`;
