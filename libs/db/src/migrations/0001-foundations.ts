/**
 * The whole schema of the first payment. Frozen: a later change is a later migration.
 *
 * Who writes what (architecture.md, "Services"): every table names its one writer, the grants at the end enforce it.
 * Amounts are base units in numeric(78,0). Times are timestamptz; chain times come from blocks, never from the clock.
 */
export const name = '0001-foundations';

const ROLES = `
do $$
declare r text;
begin
  foreach r in array array['opentill_api','opentill_scanner_evm','opentill_tracker','opentill_signer','opentill_webhook','opentill_ops'] loop
    if not exists (select from pg_roles where rolname = r) then
      begin
        execute format('create role %I login', r);
      exception when duplicate_object or unique_violation then null; -- another database of the cluster was first
      end;
    end if;
  end loop;
end $$;

-- A function is nobody's to call unless granted, also one of a later migration.
alter default privileges revoke execute on functions from public;
revoke all on schema public from public;
grant usage on schema public to opentill_api, opentill_scanner_evm, opentill_tracker, opentill_signer, opentill_webhook, opentill_ops;
`;

/** One schema per service with its own outbox, inbox and leases: a stolen role can't forge another's events. */
const SERVICE_SCHEMAS = `
-- A lease's row stays for ever, or its fencing token would start anew; only presences may be forgotten.
create function lease_refuse_delete() returns trigger language plpgsql as $$
begin
  raise exception 'the lease % is kept for its fencing token', old.name using errcode = 'integrity_constraint_violation';
end $$;

do $$
declare s text; r text;
begin
  foreach s in array array['api','scanner_evm','tracker','signer','webhook','ops'] loop
    r := 'opentill_' || s;
    execute format('create schema %I', s);
    execute format('grant usage on schema %I to %I', s, r);
    execute format($t$
      create table %1$I.outbox (
        id bigint generated always as identity primary key,
        event_id uuid not null unique,
        routing_key text not null,
        payload text not null,
        created_at timestamptz not null default now()
      ) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
      create table %1$I.inbox (
        consumer text not null,
        event_id uuid not null,
        received_at timestamptz not null default now(),
        primary key (consumer, event_id)
      );
      create index inbox_received_at on %1$I.inbox (received_at);
      create table %1$I.lease (
        name text primary key,
        holder text not null,
        fencing_token bigint not null,
        expires_at timestamptz not null
      );
      create trigger lease_kept before delete on %1$I.lease for each row
        when (not starts_with(old.name, 'presence/')) execute function lease_refuse_delete();
      grant select, insert, delete on %1$I.outbox to %2$I;
      grant select, insert, delete on %1$I.inbox to %2$I;
      grant select, insert, update, delete on %1$I.lease to %2$I;
    $t$, s, r);
  end loop;
end $$;
`;

const MERCHANTS = `
create table merchant ( -- writer: ops
  merchant_id text primary key check (merchant_id ~ '^[A-Za-z0-9_-]{1,64}$'),
  name text not null,
  version text not null check (version in ('V2', 'V3')),
  sign_version smallint not null default 1 check (sign_version in (1, 2)),
  token_sealed bytea not null,
  webhook_secret_sealed bytea not null,
  callback_url text,
  return_origins text[] not null default '{}',
  order_ttl_seconds integer not null default 1800 check (order_ttl_seconds between 60 and 86400),
  underpayment_tolerance_bps integer not null default 0 check (underpayment_tolerance_bps between 0 and 10000),
  late_grace_seconds integer not null default 0 check (late_grace_seconds >= 0),
  notify_reverted boolean not null default false,
  rate_limits jsonb not null default '{}',
  enabled boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table request_nonce ( -- writer: api
  merchant_id text not null references merchant,
  nonce text not null check (length(nonce) between 1 and 128),
  expires_at timestamptz not null,
  primary key (merchant_id, nonce)
);
create index request_nonce_expires_at on request_nonce (expires_at);

create unlogged table rate_counter ( -- writer: api; emptied by a crash of Postgres, which opens one window
  key text primary key,
  points integer not null default 0,
  expire bigint
);
`;

const ORDERS = `
create sequence deposit_index_evm as bigint minvalue 0 maxvalue 2147483647 start 0;
create sequence deposit_index_tron as bigint minvalue 0 maxvalue 2147483647 start 0;
create sequence deposit_index_sui as bigint minvalue 0 maxvalue 2147483647 start 0;

create table orders ( -- writer: api at creation, tracker from then on
  order_pk uuid primary key,
  merchant_id text not null references merchant,
  order_id text not null check (order_id ~ '^[A-Za-z0-9_.:~@-]{1,64}$'),
  order_type text not null check (order_type in ('COLLECTION', 'PAYOUT')),
  uid text,
  status text not null default 'INIT'
    check (status in ('INIT', 'PENDING', 'PENDING_CONFIRMATION', 'SUCCESS', 'EXPIRED', 'FAILED')),
  reason text,
  chain text not null,
  family text not null check (family in ('EVM', 'TRON', 'SUI')),
  symbol text not null,
  contract_address text,
  decimals smallint not null check (decimals between 0 and 36),
  display_decimals smallint not null,
  amount numeric(78, 0) not null check (amount > 0),
  accepted_amount numeric(78, 0) not null check (accepted_amount > 0 and accepted_amount <= amount),
  detected_amount numeric(78, 0) not null default 0 check (detected_amount >= 0),
  actual_amount numeric(78, 0) check (actual_amount >= 0),
  address text not null,
  source_address text,
  confirmations_required integer check (confirmations_required > 0),
  late_grace_seconds integer not null default 0,
  return_url text,
  description text,
  signed_data_hash bytea,
  version integer not null default 1,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  updated_at timestamptz not null default now(),
  unique (merchant_id, order_id)
);
comment on column orders.address is 'COLLECTION: the deposit address; PAYOUT: the receiver. Canonical form of the family.';
comment on column orders.accepted_amount is 'What has to arrive for SUCCESS: amount less the tolerance of the merchant.';
comment on column orders.detected_amount is 'Sum of the transfers in time that are seen and not orphaned.';
comment on column orders.confirmations_required is 'null: the finalized tag of the chain decides.';
comment on column orders.signed_data_hash is 'Identity of a payout that came without orderId (api.md section 2).';
create unique index orders_signed_data on orders (merchant_id, signed_data_hash) where signed_data_hash is not null;
create index orders_open_expiry on orders (chain, expires_at) where order_type = 'COLLECTION' and status in ('INIT', 'PENDING');
create index orders_confirming on orders (chain) where order_type = 'COLLECTION' and status = 'PENDING_CONFIRMATION';

create function orders_refuse_change_of_success() returns trigger language plpgsql as $$
begin
  raise exception 'order % is SUCCESS for good', old.order_pk using errcode = 'integrity_constraint_violation';
end $$;
create trigger orders_success_kept before update on orders for each row
  when (old.status = 'SUCCESS' and (new.status <> 'SUCCESS' or new.actual_amount is distinct from old.actual_amount))
  execute function orders_refuse_change_of_success();

create table deposit_address ( -- writer: api
  family text not null check (family in ('EVM', 'TRON', 'SUI')),
  address text not null,
  derivation_index bigint not null check (derivation_index between 0 and 2147483647),
  order_pk uuid not null unique references orders,
  created_at timestamptz not null default now(),
  primary key (family, address),
  unique (family, derivation_index)
);

create table notification ( -- writers: api (the first of an order), tracker
  event_id uuid primary key,
  merchant_id text not null references merchant,
  subject_id uuid not null,
  sequence integer not null check (sequence > 0),
  notify_type text not null check (notify_type in ('ORDER_PENDING', 'ORDER_PENDING_CONFIRMATION', 'ORDER_SUCCESS',
    'ORDER_EXPIRED', 'ORDER_FAILED', 'ORDER_REVERTED', 'COLLECT_PENDING', 'COLLECT_SUCCESS', 'COLLECT_FAILED')),
  data text not null,
  occurred_at timestamptz not null,
  unique (subject_id, sequence)
);
comment on table notification is 'What a callback will say, fixed when it happened; subject_id is the order (or the sweep), sequence its order in it.';
create index notification_occurred_at on notification (occurred_at);
alter table notification enable row level security;
-- All that the api may tell a merchant: this collection of yours now waits, nothing has come. The keys are counted
-- twice because jsonb keeps the last of equal keys and a merchant's parser might take the first.
create policy api_first_only on notification for insert to opentill_api with check (
  sequence = 1 and notify_type = 'ORDER_PENDING'
  and data::jsonb ->> 'status' = 'INIT' and data::jsonb ->> 'transaction' is null and data::jsonb ->> 'actualAmount' is null
  and (select count(*) from json_object_keys(data::json)) = (select count(*) from jsonb_object_keys(data::jsonb))
  and exists (
    select from orders o where o.order_pk = notification.subject_id and o.merchant_id = notification.merchant_id
      and o.order_id = notification.data::jsonb ->> 'orderId' and o.order_type = 'COLLECTION' and o.status = 'INIT'
  )
);
create policy api_reads on notification for select to opentill_api using (true);
create policy tracker_inserts on notification for insert to opentill_tracker with check (true);
create policy tracker_reads on notification for select to opentill_tracker using (true);
create policy webhook_reads on notification for select to opentill_webhook using (true);
create policy ops_reads on notification for select to opentill_ops using (true);
`;

const CHAIN = `
create table chain_cursor ( -- writer: scanner
  chain text primary key,
  family text not null,
  head_height bigint not null,
  head_hash text not null,
  head_time timestamptz not null,
  finalized_height bigint,
  seen_height bigint not null,
  seen_hash text not null,
  verified_height bigint not null,
  verified_hash text not null,
  verified_time timestamptz not null,
  fencing_token bigint not null,
  updated_at timestamptz not null default now(),
  check (verified_height <= seen_height)
);

create table block ( -- writer: scanner; the chain as seen, back to a window below the verified cursor
  chain text not null,
  height bigint not null,
  hash text not null,
  parent_hash text not null,
  block_time timestamptz not null,
  primary key (chain, height)
);

create table transfer ( -- writer: scanner
  transfer_id bigint generated always as identity primary key,
  chain text not null,
  family text not null,
  tx_hash text not null,
  position text not null,
  contract_address text,
  symbol text not null,
  from_address text not null,
  to_address text not null,
  amount numeric(78, 0) not null check (amount > 0),
  network_fee numeric(78, 0),
  block_height bigint not null,
  block_hash text not null,
  block_time timestamptz not null,
  first_block_time timestamptz not null,
  state text not null check (state in ('DETECTED', 'VERIFIED', 'ORPHANED')),
  version integer not null default 1,
  detected_at timestamptz not null default now(),
  verified_at timestamptz,
  updated_at timestamptz not null default now(),
  unique (chain, tx_hash, position)
);
comment on column transfer.first_block_time is 'Earliest block time seen: what was first mined in time stays in time when mined again later.';
comment on column transfer.version is 'Grows with every change of state or block; the tracker remembers which one it has settled.';
create index transfer_to on transfer (family, to_address);
create index transfer_block on transfer (chain, block_height);
create index transfer_updated_at on transfer (updated_at);

create table rescan_request ( -- writer: ops asks, scanner answers
  request_id bigint generated always as identity primary key,
  chain text not null,
  from_height bigint not null,
  to_height bigint not null check (to_height >= from_height),
  requested_at timestamptz not null default now(),
  done_at timestamptz,
  found integer
);
`;

const TRACKING = `
create table transfer_settlement ( -- writer: tracker: what it has made of each transfer
  transfer_id bigint primary key references transfer,
  settled_version integer not null,
  order_pk uuid references orders,
  booked boolean not null default false,
  bookings integer not null default 0,
  credited boolean not null default false,
  updated_at timestamptz not null default now()
);
comment on column transfer_settlement.booked is 'A verified transfer stands in the ledger; bookings counts how often, so that a re-mined one gets a new ledger reference.';
comment on column transfer_settlement.credited is 'Part of the actual_amount of an order that is SUCCESS.';
create index transfer_settlement_order on transfer_settlement (order_pk);

create table unmatched_deposit ( -- writer: tracker
  transfer_id bigint primary key references transfer,
  merchant_id text not null references merchant,
  order_pk uuid not null references orders,
  reason text not null check (reason in ('WRONG_TOKEN', 'WRONG_CHAIN', 'LATE', 'UNDERPAID', 'AFTER_SUCCESS', 'ORDER_FAILED')),
  withdrawn boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table incident ( -- writer: tracker
  incident_id uuid primary key,
  kind text not null check (kind in ('CREDITED_TRANSFER_ORPHANED')),
  chain text not null,
  symbol text,
  order_pk uuid references orders,
  transfer_id bigint references transfer,
  details jsonb not null default '{}',
  opened_at timestamptz not null,
  closed_at timestamptz
);

create table asset_hold ( -- writer: tracker sets, ops releases
  hold_id uuid primary key,
  chain text not null,
  symbol text not null,
  incident_id uuid references incident,
  reason text not null,
  set_at timestamptz not null,
  released_at timestamptz
);
create index asset_hold_open on asset_hold (chain, symbol) where released_at is null;
`;

/**
 * Double entry. A posting's amount is positive for a debit, negative for a credit; the postings of a transaction
 * sum to zero per asset, which a constraint trigger checks at commit. Balances are kept by a trigger.
 */
const LEDGER = `
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

create function ledger_apply_posting() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op <> 'INSERT' then
    raise exception 'the ledger is append-only' using errcode = 'integrity_constraint_violation';
  end if;
  if (select written_by from ledger_transaction where ledger_tx_id = new.ledger_tx_id) is distinct from pg_current_xact_id() then
    raise exception 'ledger transaction % is closed', new.ledger_tx_id using errcode = 'integrity_constraint_violation';
  end if;
  update ledger_account set balance = balance + new.amount where account_id = new.account_id;
  return new;
end $$;
create trigger ledger_posting_applied after insert or update or delete on ledger_posting
  for each row execute function ledger_apply_posting();

create function ledger_refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'the ledger is append-only' using errcode = 'integrity_constraint_violation';
end $$;
create trigger ledger_transaction_kept before update or delete on ledger_transaction
  for each row execute function ledger_refuse_change();
create trigger ledger_transaction_not_emptied before truncate on ledger_transaction execute function ledger_refuse_change();
create trigger ledger_posting_not_emptied before truncate on ledger_posting execute function ledger_refuse_change();
create trigger ledger_account_not_emptied before truncate on ledger_account execute function ledger_refuse_change();

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

const DELIVERIES = `
create table delivery ( -- writer: webhook-sender
  event_id uuid primary key references notification,
  merchant_id text not null references merchant,
  subject_id uuid not null,
  sequence integer not null,
  state text not null default 'PENDING' check (state in ('PENDING', 'DELIVERED', 'SUPERSEDED', 'DEAD')),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  lease_until timestamptz,
  lease_holder text,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  unique (subject_id, sequence)
);
create index delivery_due on delivery (merchant_id, next_attempt_at) where state = 'PENDING';

create table delivery_attempt ( -- writer: webhook-sender
  event_id uuid not null references delivery,
  attempt integer not null,
  started_at timestamptz not null,
  duration_ms integer not null,
  status_code integer,
  error text,
  response_excerpt text,
  primary key (event_id, attempt)
);

-- Lets an operator send a callback again, whatever became of it. False when it was never due for delivery.
create function replay_delivery(p_event_id uuid) returns boolean language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update delivery set state = 'PENDING', next_attempt_at = now(), lease_until = null, lease_holder = null, finished_at = null
    where event_id = p_event_id;
  return found;
end $$;
`;

/** Creation of an order with everything that belongs to it: one round trip, one transaction. */
const CREATION = `
create function create_order_row(p jsonb) returns boolean language plpgsql as $$
begin
  if p ->> 'amount' !~ '^[0-9]{1,78}$' or p ->> 'acceptedAmount' !~ '^[0-9]{1,78}$' then
    raise exception 'amounts are whole numbers of base units' using errcode = 'check_violation'; -- a cast would round them
  end if;
  insert into orders (order_pk, merchant_id, order_id, order_type, uid, chain, family, symbol, contract_address, decimals,
      display_decimals, amount, accepted_amount, address, source_address, confirmations_required, late_grace_seconds,
      return_url, description, signed_data_hash, created_at, expires_at)
    select (p ->> 'orderPk')::uuid, p ->> 'merchantId', p ->> 'orderId', p ->> 'orderType', p ->> 'uid', p ->> 'chain', p ->> 'family',
      p ->> 'symbol', p ->> 'contractAddress', (p ->> 'decimals')::smallint, (p ->> 'displayDecimals')::smallint,
      (p ->> 'amount')::numeric, (p ->> 'acceptedAmount')::numeric, p ->> 'address', p ->> 'sourceAddress',
      (p ->> 'confirmationsRequired')::integer, coalesce((p ->> 'lateGraceSeconds')::integer, 0), p ->> 'returnUrl', p ->> 'description',
      decode(p ->> 'signedDataHash', 'hex'), (p ->> 'createdAt')::timestamptz, (p ->> 'expiresAt')::timestamptz
    on conflict do nothing;
  return found;
end $$;

create function spend_nonce(p_merchant_id text, p_nonce text, p_expires_at timestamptz) returns boolean language plpgsql as $$
begin
  insert into request_nonce (merchant_id, nonce, expires_at) values (p_merchant_id, p_nonce, p_expires_at) on conflict do nothing;
  return found;
end $$;

-- Outcomes: NONCE_USED; CREATED; EXISTS with the order first created under this id (the caller compares).
create function create_collection(p jsonb) returns table (outcome text, existing orders) language plpgsql as $$
declare o jsonb := p -> 'order'; e orders;
begin
  if o ->> 'orderType' is distinct from 'COLLECTION' then
    raise exception 'not a collection' using errcode = 'check_violation';
  end if;
  if not spend_nonce(o ->> 'merchantId', p ->> 'nonce', (p ->> 'nonceExpiresAt')::timestamptz) then
    return query select 'NONCE_USED', null::orders; return;
  end if;
  if not create_order_row(o) then
    select * into strict e from orders where merchant_id = o ->> 'merchantId' and order_id = o ->> 'orderId';
    return query select 'EXISTS', e; return;
  end if;
  insert into deposit_address (family, address, derivation_index, order_pk)
    values (o ->> 'family', o ->> 'address', (p ->> 'derivationIndex')::bigint, (o ->> 'orderPk')::uuid);
  insert into notification (event_id, merchant_id, subject_id, sequence, notify_type, data, occurred_at)
    values ((p ->> 'notificationId')::uuid, o ->> 'merchantId', (o ->> 'orderPk')::uuid, 1, 'ORDER_PENDING',
      p ->> 'notificationData', (o ->> 'createdAt')::timestamptz);
  insert into api.outbox (event_id, routing_key, payload)
    select (e2 ->> 'eventId')::uuid, e2 ->> 'routingKey', e2 ->> 'payload' from jsonb_array_elements(p -> 'events') e2;
  return query select 'CREATED', null::orders;
end $$;

-- Outcomes: NONCE_USED; CREATED; EXISTS (same orderId); DUPLICATE (same signed data without orderId); INSUFFICIENT.
-- A refused payout leaves nothing but its spent nonce.
create function create_payout(p jsonb) returns table (outcome text, existing orders) language plpgsql as $$
declare o jsonb := p -> 'order'; e orders;
begin
  if o ->> 'orderType' is distinct from 'PAYOUT' then
    raise exception 'not a payout' using errcode = 'check_violation';
  end if;
  if not spend_nonce(o ->> 'merchantId', p ->> 'nonce', (p ->> 'nonceExpiresAt')::timestamptz) then
    return query select 'NONCE_USED', null::orders; return;
  end if;
  begin
    if not create_order_row(o) then
      select * into e from orders where merchant_id = o ->> 'merchantId' and signed_data_hash = decode(o ->> 'signedDataHash', 'hex');
      if found then return query select 'DUPLICATE', e; return; end if;
      select * into strict e from orders where merchant_id = o ->> 'merchantId' and order_id = o ->> 'orderId';
      return query select 'EXISTS', e; return;
    end if;
    if not reserve((o ->> 'orderPk')::uuid) then
      raise exception using errcode = 'OT001', message = 'insufficient balance';
    end if;
    insert into api.outbox (event_id, routing_key, payload)
      select (e2 ->> 'eventId')::uuid, e2 ->> 'routingKey', e2 ->> 'payload' from jsonb_array_elements(p -> 'events') e2;
  exception when sqlstate 'OT001' then
    return query select 'INSUFFICIENT', null::orders; return;
  end;
  return query select 'CREATED', null::orders;
end $$;
`;

const GRANTS = `
revoke all on all functions in schema public from public;

-- api
grant select (merchant_id, name, version, sign_version, token_sealed, return_origins, order_ttl_seconds,
  underpayment_tolerance_bps, late_grace_seconds, rate_limits, enabled, updated_at) on merchant to opentill_api;
grant select, insert, delete on request_nonce to opentill_api;
grant select, insert, update, delete on rate_counter to opentill_api;
grant select on orders, deposit_address, transfer, chain_cursor to opentill_api;
grant insert (order_pk, merchant_id, order_id, order_type, uid, chain, family, symbol, contract_address, decimals, display_decimals,
  amount, accepted_amount, address, source_address, confirmations_required, late_grace_seconds, return_url, description,
  signed_data_hash, created_at, expires_at) on orders to opentill_api;
grant insert on deposit_address, notification to opentill_api;
grant select on notification to opentill_api;
grant usage on sequence deposit_index_evm, deposit_index_tron, deposit_index_sui to opentill_api;
grant execute on function create_order_row(jsonb), spend_nonce(text, text, timestamptz), create_collection(jsonb), create_payout(jsonb),
  reserve(uuid) to opentill_api;
grant usage on schema tracker, webhook, scanner_evm to opentill_api;
grant select on tracker.lease, webhook.lease, scanner_evm.lease to opentill_api;

-- scanner-evm
grant select, insert, update on chain_cursor to opentill_scanner_evm;
grant select, insert, update, delete on block to opentill_scanner_evm;
grant select, insert, update on transfer to opentill_scanner_evm;
grant select on deposit_address to opentill_scanner_evm;
grant select, update (done_at, found) on rescan_request to opentill_scanner_evm;

-- confirmation-tracker
grant select (merchant_id, notify_reverted, enabled) on merchant to opentill_tracker;
grant select, update (status, reason, detected_amount, actual_amount, version, updated_at) on orders to opentill_tracker;
grant select on deposit_address, chain_cursor, block, transfer, ledger_account, ledger_transaction, ledger_posting to opentill_tracker;
grant select, insert, update on transfer_settlement, unmatched_deposit to opentill_tracker;
grant select, insert on incident, asset_hold, notification to opentill_tracker;
grant update (details, closed_at) on incident to opentill_tracker;
grant insert (ref, kind, order_pk, created_at) on ledger_transaction to opentill_tracker;
grant insert on ledger_posting to opentill_tracker;
grant execute on function ledger_account_for(text, text, text, text) to opentill_tracker;

-- payout-signer
grant select on orders, chain_cursor, transfer, asset_hold, ledger_account to opentill_signer;

-- webhook-sender
grant select (merchant_id, webhook_secret_sealed, callback_url, enabled, updated_at) on merchant to opentill_webhook;
grant select on notification to opentill_webhook;
grant select, insert, update on delivery to opentill_webhook;
grant select, insert on delivery_attempt to opentill_webhook;

-- ops
grant select, insert, update on merchant to opentill_ops;
grant select on all tables in schema public to opentill_ops;
grant select, insert on rescan_request to opentill_ops;
grant update (released_at) on asset_hold to opentill_ops;
grant execute on function replay_delivery(uuid), book_top_up(text, text, text, numeric) to opentill_ops;
`;

export const sql = [
  ROLES,
  SERVICE_SCHEMAS,
  MERCHANTS,
  ORDERS,
  CHAIN,
  TRACKING,
  LEDGER,
  DELIVERIES,
  CREATION,
  GRANTS,
].join('\n');
