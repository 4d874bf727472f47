-- Double entry. A posting's amount is positive for a debit and negative for a credit. Each statement's postings sum to zero
-- per ledger transaction and asset, and no posting ever changes.

create table ledger_account (
  account_id bigint generated always as identity primary key,
  kind text not null check (kind in (
    'DEPOSIT', 'DEPOSIT_RESERVED', 'DEPOSIT_SENT', 'DEPOSIT_GAS', 'SUSPENSE', 'MERCHANT', 'HOT_AVAILABLE',
    'HOT_RESERVED', 'IN_FLIGHT', 'PAID_OUT', 'REFUNDED', 'HOT_GAS', 'NETWORK_FEE', 'COLD', 'OWNER')),
  chain text not null,
  symbol text not null,
  merchant_id text references merchant,
  balance numeric(78, 0) not null default 0,
  unique nulls not distinct (kind, chain, symbol, merchant_id),
  constraint ledger_assets_not_negative check (kind not in
    ('HOT_RESERVED', 'IN_FLIGHT', 'DEPOSIT_RESERVED', 'DEPOSIT_SENT', 'COLD') or balance >= 0),
  constraint ledger_liabilities_not_positive check (kind not in ('SUSPENSE', 'MERCHANT') or balance <= 0)
);
comment on table ledger_account is 'DEPOSIT, DEPOSIT_RESERVED, DEPOSIT_SENT: on deposit addresses, free, promised to sweeps, or sent by them and not final. DEPOSIT_GAS: native coin sent there for fees, less the fees paid. SUSPENSE: verified, not credited to an order. MERCHANT: credited to orders. HOT_AVAILABLE, HOT_RESERVED, IN_FLIGHT: in the hot wallet, free, promised to payouts, or sent and not final. PAID_OUT: left by payouts. REFUNDED: refunded from SUSPENSE. HOT_GAS: native coin for fees less the fees paid; may be negative. NETWORK_FEE: paid to the chains. COLD: in cold storage. OWNER: put in by the operator.';

create table ledger_transaction (
  ledger_tx_id bigint generated always as identity primary key,
  ref text not null unique,
  kind text not null check (kind in (
    'DEPOSIT', 'DEPOSIT_REVERSED', 'CREDIT', 'CREDIT_REVERSED', 'RESERVE', 'RELEASE', 'PAYOUT_SENT',
    'PAYOUT', 'PAYOUT_REVERSED', 'PAYOUT_RETURNED', 'PAYOUT_RETURN_REVERSED', 'NETWORK_FEE',
    'NETWORK_FEE_REVERSED', 'TOP_UP', 'GAS_TOP_UP', 'TOP_UP_REVERSED')),
  order_pk uuid references orders,
  created_at timestamptz not null default now(),
  written_by xid8 not null default pg_current_xact_id()
);
comment on column ledger_transaction.written_by is 'The database transaction that wrote it: only that one adds postings.';
create index ledger_transaction_order on ledger_transaction (order_pk) where order_pk is not null;
create index ledger_transaction_created_at on ledger_transaction using brin (created_at);
alter table ledger_transaction enable row level security;
-- The tracker books deposits and credits; only functions move the hot wallets.
create policy all_read on ledger_transaction for select using (true);
create policy tracker_books on ledger_transaction for insert to opentill_tracker
  with check (kind in ('DEPOSIT', 'DEPOSIT_REVERSED', 'CREDIT', 'CREDIT_REVERSED'));

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
create trigger ledger_posting_kept before update or delete on ledger_posting
  for each row execute function ledger_refuse_change();
create trigger ledger_transaction_kept before update or delete on ledger_transaction
  for each row execute function ledger_refuse_change();
create trigger ledger_transaction_not_emptied before truncate on ledger_transaction execute function ledger_refuse_change();
create trigger ledger_posting_not_emptied before truncate on ledger_posting execute function ledger_refuse_change();
create trigger ledger_account_not_emptied before truncate on ledger_account execute function ledger_refuse_change();

-- Updates balances, each account once per statement. Accounts are locked by ascending id, so that two statements
-- do not deadlock. Rejects postings to a transaction that another database transaction wrote, and to an account
-- that the transaction's kind does not use. Only a reorganisation may take HOT_AVAILABLE below zero: the ledger
-- then agrees with the chain, and reservations fail until it is covered again.
create function ledger_apply_postings() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare v_tx bigint; v_closed boolean; v_kind text; v_account text; v_overdrawn bigint[]; v_name text;
begin
  select added.ledger_tx_id, t.written_by <> pg_current_xact_id(), t.kind, a.kind into v_tx, v_closed, v_kind, v_account
    from added join ledger_transaction t using (ledger_tx_id) join ledger_account a using (account_id)
    where t.written_by <> pg_current_xact_id() or a.kind <> all (
      case t.kind
        when 'DEPOSIT' then array['DEPOSIT', 'SUSPENSE']
        when 'DEPOSIT_REVERSED' then array['DEPOSIT', 'SUSPENSE']
        when 'CREDIT' then array['SUSPENSE', 'MERCHANT']
        when 'CREDIT_REVERSED' then array['SUSPENSE', 'MERCHANT']
        when 'RESERVE' then array['HOT_AVAILABLE', 'HOT_GAS', 'DEPOSIT', 'HOT_RESERVED', 'DEPOSIT_RESERVED']
        when 'RELEASE' then array['HOT_AVAILABLE', 'HOT_GAS', 'DEPOSIT', 'HOT_RESERVED', 'DEPOSIT_RESERVED']
        when 'PAYOUT_SENT' then array['HOT_RESERVED', 'DEPOSIT_RESERVED', 'IN_FLIGHT', 'DEPOSIT_SENT']
        when 'PAYOUT' then array['IN_FLIGHT', 'DEPOSIT_SENT', 'PAID_OUT', 'REFUNDED', 'COLD', 'DEPOSIT_GAS', 'HOT_AVAILABLE']
        when 'PAYOUT_REVERSED' then array['IN_FLIGHT', 'DEPOSIT_SENT', 'PAID_OUT', 'REFUNDED', 'COLD', 'DEPOSIT_GAS', 'HOT_AVAILABLE']
        when 'PAYOUT_RETURNED' then array['IN_FLIGHT', 'DEPOSIT_SENT', 'HOT_AVAILABLE', 'HOT_GAS', 'DEPOSIT']
        when 'PAYOUT_RETURN_REVERSED' then array['IN_FLIGHT', 'DEPOSIT_SENT', 'HOT_AVAILABLE', 'HOT_GAS', 'DEPOSIT']
        when 'NETWORK_FEE' then array['NETWORK_FEE', 'HOT_GAS', 'DEPOSIT_GAS']
        when 'NETWORK_FEE_REVERSED' then array['NETWORK_FEE', 'HOT_GAS', 'DEPOSIT_GAS']
        when 'TOP_UP' then array['HOT_AVAILABLE', 'OWNER']
        when 'GAS_TOP_UP' then array['HOT_GAS', 'OWNER']
        when 'TOP_UP_REVERSED' then array['HOT_AVAILABLE', 'HOT_GAS', 'OWNER']
      end) limit 1;
  if found and v_closed then
    raise exception 'ledger transaction % is closed', v_tx using errcode = 'integrity_constraint_violation';
  elsif found then
    raise exception 'ledger transaction % is a %, which does not use %', v_tx, v_kind, v_account
      using errcode = 'integrity_constraint_violation';
  end if;
  perform from ledger_account where account_id in (select account_id from added) order by account_id for no key update;
  with changed as (
    update ledger_account a set balance = a.balance + s.amount
      from (select account_id, sum(amount) as amount from added group by account_id) s where a.account_id = s.account_id
      returning a.account_id, a.kind, a.balance
  )
  select array_agg(account_id), min(kind) into v_overdrawn, v_name from changed where kind in ('HOT_AVAILABLE', 'DEPOSIT') and balance < 0;
  if v_overdrawn is not null and exists (
    select from added join ledger_transaction t using (ledger_tx_id)
    where account_id = any(v_overdrawn) and amount < 0 and t.kind not in ('TOP_UP_REVERSED', 'PAYOUT_RETURN_REVERSED', 'PAYOUT_REVERSED', 'DEPOSIT_REVERSED')
  ) then
    raise exception '% does not have enough funds', v_name using errcode = 'check_violation', table = 'ledger_account',
      constraint = 'ledger_assets_not_negative';
  end if;
  return null;
end $$;
create trigger ledger_posting_applied after insert on ledger_posting
  referencing new table as added for each statement execute function ledger_apply_postings();

-- Checks the zero sum per statement, ledger transaction and asset. A check per row at commit would run while the accounts
-- that all payments share are locked (measured: half of that time, at 500 payments with 3,000 checks).
create function ledger_check_balanced() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare v_tx bigint;
begin
  select p.ledger_tx_id into v_tx from added p join ledger_account a using (account_id)
    group by p.ledger_tx_id, a.chain, a.symbol having sum(p.amount) <> 0 limit 1;
  if found then
    raise exception 'ledger transaction % does not sum to zero', v_tx using errcode = 'integrity_constraint_violation';
  end if;
  return null;
end $$;
create trigger ledger_posting_balanced after insert on ledger_posting
  referencing new table as added for each statement execute function ledger_check_balanced();

create function ledger_check_posted() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if not exists (select from ledger_posting where ledger_tx_id = new.ledger_tx_id) then
    raise exception 'ledger transaction % has no postings', new.ledger_tx_id using errcode = 'integrity_constraint_violation';
  end if;
  return null;
end $$;
create constraint trigger ledger_transaction_posted after insert on ledger_transaction
  deferrable initially deferred for each row execute function ledger_check_posted();

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
