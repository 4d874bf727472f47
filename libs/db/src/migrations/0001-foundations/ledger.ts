/**
 * Double entry. A posting's amount is positive for a debit, negative for a credit; the postings of a transaction
 * sum to zero per asset, which a constraint trigger checks at commit. Balances are kept by a trigger.
 */
export const LEDGER = `
create table ledger_account (
  account_id bigint generated always as identity primary key,
  kind text not null check (kind in ('DEPOSIT', 'SUSPENSE', 'MERCHANT', 'HOT_AVAILABLE', 'HOT_RESERVED', 'PAID_OUT', 'OWNER')),
  chain text not null,
  symbol text not null,
  merchant_id text references merchant,
  balance numeric(78, 0) not null default 0,
  unique nulls not distinct (kind, chain, symbol, merchant_id),
  constraint ledger_assets_not_negative check (kind not in ('DEPOSIT', 'HOT_AVAILABLE', 'HOT_RESERVED') or balance >= 0),
  constraint ledger_liabilities_not_positive check (kind not in ('SUSPENSE', 'MERCHANT') or balance <= 0)
);
comment on table ledger_account is 'DEPOSIT: on deposit addresses. SUSPENSE: verified, not (yet) credited to an order. MERCHANT: credited to orders. HOT_AVAILABLE, HOT_RESERVED: in the hot wallet, free or promised to payouts. PAID_OUT: left by payouts. OWNER: put in by the operator.';

create table ledger_transaction (
  ledger_tx_id bigint generated always as identity primary key,
  ref text not null unique,
  kind text not null check (kind in ('DEPOSIT', 'DEPOSIT_REVERSED', 'CREDIT', 'CREDIT_REVERSED', 'RESERVE', 'RELEASE', 'PAYOUT', 'TOP_UP')),
  order_pk uuid references orders,
  created_at timestamptz not null default now(),
  written_by xid8 not null default pg_current_xact_id()
);
comment on column ledger_transaction.written_by is 'The database transaction that wrote it: postings are added by this one or never.';
create index ledger_transaction_order on ledger_transaction (order_pk) where order_pk is not null;

create table ledger_posting (
  ledger_tx_id bigint not null references ledger_transaction,
  account_id bigint not null references ledger_account,
  amount numeric(78, 0) not null check (amount <> 0),
  primary key (ledger_tx_id, account_id)
);

create function ledger_refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'the ledger is append-only' using errcode = 'integrity_constraint_violation';
end $$;

-- Brings the balances up to date, each account once per statement. Accounts are locked in the order of their ids, so
-- that two statements never wait for one another in a circle, whatever the order of their postings. What may not be
-- posted: to a transaction that another database transaction wrote, and to an account that has no part in its kind.
create function ledger_apply_postings() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare v_tx bigint; v_closed boolean; v_kind text; v_account text;
begin
  select added.ledger_tx_id, t.written_by <> pg_current_xact_id(), t.kind, a.kind into v_tx, v_closed, v_kind, v_account
    from added join ledger_transaction t using (ledger_tx_id) join ledger_account a using (account_id)
    where t.written_by <> pg_current_xact_id() or a.kind <> all (
      case t.kind
        when 'DEPOSIT' then array['DEPOSIT', 'SUSPENSE'] when 'DEPOSIT_REVERSED' then array['DEPOSIT', 'SUSPENSE']
        when 'CREDIT' then array['SUSPENSE', 'MERCHANT'] when 'CREDIT_REVERSED' then array['SUSPENSE', 'MERCHANT']
        when 'RESERVE' then array['HOT_AVAILABLE', 'HOT_RESERVED'] when 'RELEASE' then array['HOT_AVAILABLE', 'HOT_RESERVED']
        when 'PAYOUT' then array['HOT_RESERVED', 'PAID_OUT'] when 'TOP_UP' then array['HOT_AVAILABLE', 'OWNER']
      end) limit 1;
  if found and v_closed then
    raise exception 'ledger transaction % is closed', v_tx using errcode = 'integrity_constraint_violation';
  elsif found then
    raise exception 'ledger transaction % is a %, which has no part for %', v_tx, v_kind, v_account
      using errcode = 'integrity_constraint_violation';
  end if;
  perform from ledger_account where account_id in (select account_id from added) order by account_id for no key update;
  update ledger_account a set balance = a.balance + s.amount
    from (select account_id, sum(amount) as amount from added group by account_id) s where a.account_id = s.account_id;
  return null;
end $$;
create trigger ledger_posting_applied after insert on ledger_posting
  referencing new table as added for each statement execute function ledger_apply_postings();
create trigger ledger_posting_kept before update or delete on ledger_posting
  for each row execute function ledger_refuse_change();
create trigger ledger_transaction_kept before update or delete on ledger_transaction
  for each row execute function ledger_refuse_change();
create trigger ledger_transaction_not_emptied before truncate on ledger_transaction execute function ledger_refuse_change();
create trigger ledger_posting_not_emptied before truncate on ledger_posting execute function ledger_refuse_change();
create trigger ledger_account_not_emptied before truncate on ledger_account execute function ledger_refuse_change();

-- The tracker books what came in and whose it is; the hot wallet moves by functions alone.
alter table ledger_transaction enable row level security;
create policy all_read on ledger_transaction for select using (true);
create policy tracker_books on ledger_transaction for insert to opentill_tracker
  with check (kind in ('DEPOSIT', 'DEPOSIT_REVERSED', 'CREDIT', 'CREDIT_REVERSED'));

create function ledger_check_zero_sum() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if exists (
    select from ledger_posting p join ledger_account a using (account_id)
    where p.ledger_tx_id = new.ledger_tx_id
    group by a.chain, a.symbol having sum(p.amount) <> 0
  ) then
    raise exception 'ledger transaction % does not sum to zero', new.ledger_tx_id using errcode = 'integrity_constraint_violation';
  end if;
  if not exists (select from ledger_posting where ledger_tx_id = new.ledger_tx_id) then
    raise exception 'ledger transaction % has no postings', new.ledger_tx_id using errcode = 'integrity_constraint_violation';
  end if;
  return null;
end $$;
create constraint trigger ledger_posting_zero_sum after insert on ledger_posting
  deferrable initially deferred for each row execute function ledger_check_zero_sum();
create constraint trigger ledger_transaction_zero_sum after insert on ledger_transaction
  deferrable initially deferred for each row execute function ledger_check_zero_sum();

create function ledger_account_for(p_kind text, p_chain text, p_symbol text, p_merchant_id text) returns bigint
language plpgsql security definer set search_path = public, pg_temp as $$
declare v_id bigint;
begin
  select account_id into v_id from ledger_account
    where kind = p_kind and chain = p_chain and symbol = p_symbol and merchant_id is not distinct from p_merchant_id;
  if v_id is not null then return v_id; end if;
  insert into ledger_account (kind, chain, symbol, merchant_id) values (p_kind, p_chain, p_symbol, p_merchant_id)
    on conflict do nothing returning account_id into v_id;
  if v_id is null then
    select account_id into v_id from ledger_account
      where kind = p_kind and chain = p_chain and symbol = p_symbol and merchant_id is not distinct from p_merchant_id;
  end if;
  return v_id;
end $$;

-- Reserves a payout's amount in the hot wallet. True when covered (or reserved before), false when not covered.
create function reserve(p_order_pk uuid) returns boolean language plpgsql security definer set search_path = public, pg_temp as $$
declare o orders; v_from bigint; v_to bigint; v_balance numeric; v_tx bigint;
begin
  select * into o from orders where order_pk = p_order_pk and order_type = 'PAYOUT' and status = 'INIT';
  if not found then
    raise exception 'no payout % waits for a reservation', p_order_pk using errcode = 'no_data_found';
  end if;
  v_from := ledger_account_for('HOT_AVAILABLE', o.chain, o.symbol, null);
  v_to := ledger_account_for('HOT_RESERVED', o.chain, o.symbol, o.merchant_id);
  select balance into v_balance from ledger_account where account_id = v_from for update;
  if exists (select from ledger_transaction where ref = 'reserve:' || p_order_pk) then return true; end if;
  if v_balance < o.amount then return false; end if;
  insert into ledger_transaction (ref, kind, order_pk) values ('reserve:' || p_order_pk, 'RESERVE', p_order_pk)
    returning ledger_tx_id into v_tx;
  insert into ledger_posting (ledger_tx_id, account_id, amount) values (v_tx, v_to, o.amount), (v_tx, v_from, -o.amount);
  return true;
end $$;

-- Books what the operator put into the hot wallet; p_ref is the transfer's natural key, so twice is once.
-- True when booked now, false when booked before; another amount or asset under the same key is refused.
create function book_top_up(p_ref text, p_chain text, p_symbol text, p_amount numeric) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare v_tx bigint;
begin
  if p_amount is null or p_amount <= 0 or p_amount <> trunc(p_amount) then
    raise exception 'a top-up is a positive whole number of base units' using errcode = 'check_violation';
  end if;
  insert into ledger_transaction (ref, kind) values ('top-up:' || p_ref, 'TOP_UP') on conflict (ref) do nothing
    returning ledger_tx_id into v_tx;
  if v_tx is null then
    if not exists (
      select from ledger_transaction t join ledger_posting using (ledger_tx_id) join ledger_account a using (account_id)
      where t.ref = 'top-up:' || p_ref and a.kind = 'HOT_AVAILABLE' and a.chain = p_chain and a.symbol = p_symbol and amount = p_amount
    ) then
      raise exception 'the top-up % was booked with another amount or asset', p_ref using errcode = 'check_violation';
    end if;
    return false;
  end if;
  insert into ledger_posting (ledger_tx_id, account_id, amount) values
    (v_tx, ledger_account_for('HOT_AVAILABLE', p_chain, p_symbol, null), p_amount),
    (v_tx, ledger_account_for('OWNER', p_chain, p_symbol, null), -p_amount);
  return true;
end $$;
`;
