-- Balances of deposit addresses, the sweeps that empty them, and the gateway's own movements of money.

create table deposit_balance ( -- writers: only triggers and functions
  chain text not null,
  address text not null,
  symbol text not null,
  family text not null,
  contract_address text,
  order_pk uuid not null references orders,
  received numeric(78, 0) not null default 0,
  reserved numeric(78, 0) not null default 0 check (reserved >= 0),
  swept numeric(78, 0) not null default 0 check (swept >= 0),
  since timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  held_since timestamptz,
  primary key (chain, address, symbol)
);
comment on table deposit_balance is 'Balance of a deposit address in one asset: received - swept, of which reserved is promised to a running sweep.';
comment on column deposit_balance.received is 'Verified transfers to it, as booked in the ledger: credited, of open orders, and unmatched.';
comment on column deposit_balance.swept is 'Verified sweeps from it. It exceeds received only where a reorganisation removed a deposit.';
comment on column deposit_balance.since is 'Earliest arrival of the free money. Money returned by a failed sweep keeps its age.';
comment on column deposit_balance.held_since is 'The same for the reserved money if more has arrived since; restored if the sweep fails.';
create index deposit_unswept on deposit_balance (chain, symbol, since) where received > swept + reserved;
create index deposit_promised on deposit_balance (chain) where reserved > 0;

create table sweep ( -- writer: payout-signer (its planner)
  sweep_id uuid primary key,
  chain text not null,
  family text not null check (family in ('EVM', 'TRON', 'SUI')),
  address text not null,
  symbol text not null,
  contract_address text,
  amount numeric(78, 0) not null check (amount > 0),
  destination text not null,
  destination_kind text not null check (destination_kind in ('COLD', 'HOT')),
  method text not null check (method in ('TOP_UP', 'STAKE', 'RENT', 'FREE')),
  cost_estimate numeric(78, 0) not null check (cost_estimate >= 0),
  state text not null default 'OPEN' check (state in ('OPEN', 'DONE', 'FAILED', 'ABANDONED')),
  reason text,
  rent_ref text,
  rent_cost numeric(78, 0) check (rent_cost >= 0),
  fencing_token bigint,
  planned_at timestamptz not null default now(),
  ended_at timestamptz,
  version integer not null default 1,
  updated_at timestamptz not null default now(),
  rent_ordered_at timestamptz,
  check ((ended_at is not null) = (state <> 'OPEN'))
);
comment on table sweep is 'Plan to empty one deposit address of one asset; its movements show the progress.';
comment on column sweep.method is 'TOP_UP: the hot wallet sends native coin for the fee. STAKE: energy is lent from own stake. RENT: energy is bought. FREE: the address can pay by itself.';
comment on column sweep.cost_estimate is 'In the native coin, when it was planned.';
comment on column sweep.rent_ordered_at is 'When energy was ordered for it from a seller.';
create unique index sweep_one_open on sweep (chain, address) where state = 'OPEN';
create index sweep_open on sweep (chain, planned_at) where state = 'OPEN';
create index sweep_address on sweep (chain, address);
create index sweep_not_done on sweep (chain, ended_at) where state in ('FAILED', 'ABANDONED');
create index sweep_ended on sweep (chain, ended_at) where ended_at is not null;

create table movement ( -- writer: plan_movement(), refund_deposit()
  order_pk uuid primary key references orders,
  kind text not null check (kind in ('SWEEP', 'GAS_TOP_UP', 'DELEGATE', 'UNDELEGATE', 'TO_COLD', 'REFUND')),
  sweep_id uuid references sweep,
  transfer_id bigint references transfer,
  source_kind text,
  reserved_kind text,
  sent_kind text,
  target_kind text,
  planned_by text,
  created_at timestamptz not null default now(),
  planned_cost numeric(78, 0) check (planned_cost >= 0),
  deposit_order_pk uuid,
  check ((sweep_id is not null) = (kind in ('SWEEP', 'GAS_TOP_UP', 'DELEGATE', 'UNDELEGATE'))),
  check ((transfer_id is not null) = (kind = 'REFUND')),
  check ((source_kind is null) = (kind in ('DELEGATE', 'UNDELEGATE'))),
  check ((source_kind is null) = (reserved_kind is null) and (source_kind is null) = (sent_kind is null)
    and (source_kind is null) = (target_kind is null))
);
comment on table movement is 'A payout that no merchant requested: the gateway moves money between its own accounts, or refunds a deposit. It takes the path of every payout: one row of payout, one nonce or attempt at a time, the same proofs.';
comment on column movement.source_kind is 'The kinds of ledger accounts that its amount passes: source, reserved, sent, target. Null for a delegation, which moves no money.';
comment on column movement.planned_cost is 'TO_COLD: the planned fee, in the native coin. For a sweep see sweep.cost_estimate.';
comment on column movement.deposit_order_pk is 'REFUND: the collection that the deposit was unmatched for.';
create index movement_sweep on movement (sweep_id) where sweep_id is not null;
create index movement_transfer on movement (transfer_id) where transfer_id is not null;
create index movement_to_cold on movement (created_at) where kind = 'TO_COLD';
create index movement_deposit_order on movement (deposit_order_pk) where deposit_order_pk is not null;

create table sweep_pause ( -- writer: ops
  chain text primary key,
  operator text not null,
  reason text not null,
  paused_at timestamptz not null default now()
);
comment on table sweep_pause is 'No sweep begins on these chains; running ones continue.';

create table sweep_plan ( -- writer: payout-signer (its planner)
  chain text primary key,
  plan jsonb not null,
  planned_at timestamptz not null default now()
);
comment on table sweep_plan is 'The planner''s current plan with costs, and why the rest waits; for operators.';

create table sweep_request ( -- writer: ops; handled by payout-signer
  request_id bigint generated always as identity primary key,
  chain text not null,
  operator text not null,
  requested_at timestamptz not null default now(),
  handled_at timestamptz,
  planned integer
);
comment on table sweep_request is 'An operator requests a sweep now, regardless of age but within the cost limits of the policy.';
create index sweep_request_open on sweep_request (chain) where handled_at is null;

create function movement_names_collection() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  new.deposit_order_pk := (select u.order_pk from unmatched_deposit u where u.transfer_id = new.transfer_id);
  return new;
end $$;
create trigger movement_names_collection before insert on movement for each row
  when (new.transfer_id is not null) execute function movement_names_collection();

-- A settlement names the order that a transfer is booked for, and an order has one deposit address. So a reversal
-- is taken from the address where it was booked, even if the transfer has moved since. The age of reserved money
-- is kept.
create function deposit_balance_add(p_order_pk uuid, p_chain text, p_symbol text, p_contract text, p_amount numeric) returns void
language sql security definer set search_path = public, pg_temp as $$
  insert into deposit_balance as b (chain, address, symbol, family, contract_address, order_pk, received)
    select p_chain, d.address, p_symbol, d.family, p_contract, d.order_pk, p_amount from deposit_address d where d.order_pk = p_order_pk
    on conflict (chain, address, symbol) do update set received = b.received + excluded.received, updated_at = now(),
      held_since = case when b.received > b.swept + b.reserved then b.held_since when b.reserved > 0 then least(b.held_since, b.since) end,
      since = case when b.received <= b.swept + b.reserved then now() else b.since end
$$;

create function deposit_balance_follow() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare t transfer;
begin
  select * into t from transfer where transfer_id = new.transfer_id;
  if tg_op = 'UPDATE' and old.booked_amount is not null then
    perform deposit_balance_add(old.order_pk, t.chain, old.booked_symbol, t.contract_address, -old.booked_amount);
  end if;
  if new.booked_amount is not null then
    perform deposit_balance_add(new.order_pk, t.chain, new.booked_symbol, t.contract_address, new.booked_amount);
  end if;
  return null;
end $$;
create trigger transfer_settlement_inserted_follows after insert on transfer_settlement for each row
  when (new.booked_amount is not null and new.order_pk is not null) execute function deposit_balance_follow();
create trigger transfer_settlement_changed_follows after update on transfer_settlement for each row
  when ((old.order_pk is not null or new.order_pk is not null)
    and (old.order_pk, old.booked_amount, old.booked_symbol) is distinct from (new.order_pk, new.booked_amount, new.booked_symbol))
  execute function deposit_balance_follow();

-- Writes the payout of a movement and reserves its amount on the given accounts. p: orderPk, kind, merchantId,
-- orderId, chain, symbol, contract, decimals, displayDecimals, amount, wallet, receiver, seconds, sweepId,
-- transferId, plannedBy, traceparent of the collection, and for TO_COLD plannedCost.
create function begin_movement(p jsonb, p_source text, p_reserved text, p_sent text, p_target text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare v_family text; v_tx bigint; v_order uuid := (p ->> 'orderPk')::uuid; v_amount numeric := (p ->> 'amount')::numeric;
  v_seconds integer := (p ->> 'seconds')::integer;
begin
  select family into v_family from chain_family where chain = p ->> 'chain';
  if v_family is null then
    raise exception 'no scanner reads the chain %', p ->> 'chain' using errcode = 'integrity_constraint_violation';
  elsif v_amount is null or v_amount <= 0 or v_amount <> trunc(v_amount) then
    raise exception 'a movement is a positive whole number of base units' using errcode = 'check_violation';
  elsif v_seconds is null or v_seconds not between 60 and 172800 then
    raise exception 'a movement ends within two days' using errcode = 'integrity_constraint_violation';
  end if;
  if p ->> 'merchantId' = '_gateway' then -- for movements without a merchant's order; never enabled, so that it cannot sign requests
    insert into merchant (merchant_id, name, version, token_sealed, webhook_secret_sealed, enabled)
      values ('_gateway', 'the gateway itself', 'V3', '', '', false) on conflict do nothing;
  end if;
  insert into orders (order_pk, merchant_id, order_id, order_type, chain, family, symbol, contract_address, decimals, display_decimals,
      amount, accepted_amount, address, source_address, traceparent, created_at, expires_at)
    values (v_order, p ->> 'merchantId', p ->> 'orderId', 'PAYOUT', p ->> 'chain', v_family, p ->> 'symbol', p ->> 'contract',
      (p ->> 'decimals')::smallint, (p ->> 'displayDecimals')::smallint, v_amount, v_amount, p ->> 'receiver', p ->> 'wallet',
      p ->> 'traceparent', clock_timestamp(), clock_timestamp() + v_seconds * interval '1 second');
  insert into movement (order_pk, kind, sweep_id, transfer_id, source_kind, reserved_kind, sent_kind, target_kind, planned_by, planned_cost)
    values (v_order, p ->> 'kind', (p ->> 'sweepId')::uuid, (p ->> 'transferId')::bigint, p_source, p_reserved, p_sent, p_target,
      p ->> 'plannedBy', (p ->> 'plannedCost')::numeric);
  if p_source is not null then
    insert into ledger_transaction (ref, kind, order_pk) values ('reserve:' || v_order, 'RESERVE', v_order) returning ledger_tx_id into v_tx;
    insert into ledger_posting (ledger_tx_id, account_id, amount) values
      (v_tx, ledger_account_for(p_reserved, p ->> 'chain', p ->> 'symbol', case when p_reserved = 'HOT_RESERVED' then p ->> 'merchantId' end), v_amount),
      (v_tx, ledger_account_for(p_source, p ->> 'chain', p ->> 'symbol', null), -v_amount);
  end if;
  insert into payout (order_pk, chain, wallet, expires_at)
    select order_pk, chain, source_address, expires_at from orders where order_pk = v_order;
end $$;

-- True when a payout has moved its amount or still may: false only for payouts that ended without moving it.
create function payout_may_move(p_order_pk uuid) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
  select exists (select from payout where order_pk = p_order_pk and money not in ('RELEASED', 'RETURNED')
    and not (state in ('REFUSED', 'EXPIRED') and first_sent_at is null))
$$;

-- Begins a movement of an open sweep: SWEEP empties its address, GAS_TOP_UP sends native coin for the fee,
-- DELEGATE lends energy and UNDELEGATE takes it back. Or TO_COLD: moves the surplus of a hot wallet. p: as in
-- begin_movement; the sweep determines merchant and order. A sweep has at most one movement of a kind at a time,
-- so that no fee is sent twice. Returns false when the amount is not available.
create function plan_movement(p jsonb) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare s sweep; v_kind text := p ->> 'kind'; v_balance deposit_balance; v_amount numeric := (p ->> 'amount')::numeric; v_merchant text;
  v_traceparent text; v_hot numeric;
begin
  if v_kind = 'TO_COLD' then
    if not exists (select from hot_wallet w join chain_family f using (family) where f.chain = p ->> 'chain' and w.address = p ->> 'wallet') then
      raise exception '% is not a hot wallet', p ->> 'wallet' using errcode = 'integrity_constraint_violation';
    end if;
    select balance into v_hot from ledger_account
      where account_id = ledger_account_for('HOT_AVAILABLE', p ->> 'chain', p ->> 'symbol', null) for update;
    if v_hot < v_amount then return false; end if;
    perform begin_movement(p || jsonb_build_object('merchantId', '_gateway', 'orderId', 'to-cold:' || (p ->> 'orderPk')),
      'HOT_AVAILABLE', 'HOT_RESERVED', 'IN_FLIGHT', 'COLD');
    return true;
  end if;
  select * into s from sweep where sweep_id = (p ->> 'sweepId')::uuid and state = 'OPEN' for update;
  if not found or s.chain is distinct from p ->> 'chain' then
    raise exception 'no sweep % is open', p ->> 'sweepId' using errcode = 'no_data_found';
  elsif exists (select from movement m where m.sweep_id = s.sweep_id and m.kind = v_kind and payout_may_move(m.order_pk)) then
    raise exception 'the sweep % already has a movement %', s.sweep_id, v_kind using errcode = 'unique_violation';
  end if;
  if v_kind = 'SWEEP' then
    if (p ->> 'wallet', p ->> 'receiver', p ->> 'symbol', v_amount) is distinct from (s.address, s.destination, s.symbol, s.amount) then
      raise exception 'the movement differs from the plan of sweep %', s.sweep_id using errcode = 'integrity_constraint_violation';
    end if;
    select * into v_balance from deposit_balance where chain = s.chain and address = s.address and symbol = s.symbol for update;
    if not found or v_balance.received - v_balance.swept - v_balance.reserved < s.amount then return false; end if;
    select merchant_id, traceparent into v_merchant, v_traceparent from orders where order_pk = v_balance.order_pk;
    perform begin_movement(p || jsonb_build_object('merchantId', v_merchant, 'orderId', 'sweep:' || (p ->> 'orderPk'), 'traceparent', v_traceparent),
      'DEPOSIT', 'DEPOSIT_RESERVED', 'DEPOSIT_SENT', case s.destination_kind when 'HOT' then 'HOT_AVAILABLE' else 'COLD' end);
    update deposit_balance set reserved = reserved + s.amount, updated_at = now()
      where chain = s.chain and address = s.address and symbol = s.symbol;
    return true;
  end if;
  if p ->> 'receiver' is distinct from s.address or p ->> 'contract' is not null
    or not exists (select from hot_wallet w where w.family = s.family and w.address = p ->> 'wallet') then
    raise exception 'the movement does not fit a sweep of %', s.address using errcode = 'integrity_constraint_violation';
  end if;
  p := p || jsonb_build_object('merchantId', '_gateway', 'orderId', lower(replace(v_kind, '_', '-')) || ':' || (p ->> 'orderPk'),
    'traceparent', (select o.traceparent from deposit_address d join orders o using (order_pk) where d.family = s.family and d.address = s.address));
  if v_kind = 'GAS_TOP_UP' then
    perform begin_movement(p, 'HOT_GAS', 'HOT_RESERVED', 'IN_FLIGHT', 'DEPOSIT_GAS');
  elsif v_kind in ('DELEGATE', 'UNDELEGATE') then
    perform begin_movement(p, null, null, null, null);
  else
    raise exception 'unknown movement kind %', v_kind using errcode = 'check_violation';
  end if;
  return true;
end $$;

-- Refunds an unmatched deposit, or a part of it: a payout of its merchant to an address that an operator names. p:
-- as in begin_movement; earlier and running refunds count. The order is locked first, as in crediting, so that the
-- second of the two sees the first. Returns false when the hot wallet does not have the amount.
create function refund_deposit(p jsonb) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare u unmatched_deposit; t transfer; v_back numeric; v_hot numeric; v_amount numeric := (p ->> 'amount')::numeric; v_count integer;
begin
  perform from orders o where o.order_pk = (select d.order_pk from unmatched_deposit d where d.transfer_id = (p ->> 'transferId')::bigint)
    for no key update;
  select * into u from unmatched_deposit where transfer_id = (p ->> 'transferId')::bigint for update;
  if not found or u.withdrawn then
    raise exception 'deposit % is not unmatched and cannot be refunded', p ->> 'transferId' using errcode = 'no_data_found';
  end if;
  select * into t from transfer where transfer_id = u.transfer_id;
  if t.state <> 'VERIFIED' or exists (select from transfer_settlement x where x.transfer_id = u.transfer_id and x.credited) then
    raise exception 'the deposit % is not verified, or was credited', u.transfer_id using errcode = 'integrity_constraint_violation';
  elsif exists (select from order_decision d where d.order_pk = u.order_pk and d.decision = 'ACCEPT' and d.handled_at is null) then
    raise exception 'an acceptance of the order of deposit % is pending', u.transfer_id using errcode = 'integrity_constraint_violation';
  elsif (t.chain, t.symbol) is distinct from (p ->> 'chain', p ->> 'symbol') then
    raise exception 'the deposit % is in % on %', u.transfer_id, t.symbol, t.chain using errcode = 'integrity_constraint_violation';
  elsif not exists (select from hot_wallet w where w.family = t.family and w.address = p ->> 'wallet') then
    raise exception '% is not a hot wallet', p ->> 'wallet' using errcode = 'integrity_constraint_violation';
  end if;
  select coalesce(sum(o.amount) filter (where payout_may_move(m.order_pk)), 0), count(*) into v_back, v_count
    from movement m join orders o using (order_pk) where m.transfer_id = u.transfer_id;
  if v_back + v_amount > t.amount then
    raise exception 'deposit % has only % left', u.transfer_id, t.amount - v_back using errcode = 'check_violation';
  end if;
  select balance into v_hot from ledger_account
    where account_id = ledger_account_for('HOT_AVAILABLE', t.chain, t.symbol, null) for update;
  if v_hot < v_amount then return false; end if;
  perform begin_movement(p || jsonb_build_object('kind', 'REFUND', 'merchantId', u.merchant_id,
      'orderId', 'refund:' || u.transfer_id || ':' || (v_count + 1),
      'traceparent', (select traceparent from orders where order_pk = u.order_pk)), 'HOT_AVAILABLE', 'HOT_RESERVED', 'IN_FLIGHT', 'REFUNDED');
  return true;
end $$;
