-- Orders, deposit addresses, and the notifications for merchants. Amounts are in base units.

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
  late_grace_seconds integer not null default 0 check (late_grace_seconds between 0 and 604800),
  return_url text,
  description text,
  signed_data_hash bytea,
  traceparent text check (traceparent ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$'),
  version integer not null default 1,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  cutoff_at timestamptz not null generated always as
    ((expires_at at time zone 'UTC' + late_grace_seconds * interval '1 second') at time zone 'UTC') stored,
  updated_at timestamptz not null default now(),
  late_callback_at timestamptz,
  late_callback_due_at timestamptz,
  unmatched_callback_at timestamptz,
  unmatched_callback_due_at timestamptz,
  unique (merchant_id, order_id)
);
comment on column orders.accepted_amount is 'Amount required for SUCCESS: amount less the tolerance of the merchant.';
comment on column orders.detected_amount is 'Sum of the transfers in time that were seen and are not orphaned.';
comment on column orders.address is 'COLLECTION: the deposit address; PAYOUT: the receiver. Canonical form of the family.';
comment on column orders.confirmations_required is 'Null: the finalized tag of the chain decides.';
comment on column orders.signed_data_hash is 'Identity of a payout that came without orderId.';
comment on column orders.traceparent is 'W3C: trace and span of the request that created it; a movement has that of its collection. Null while tracing is off.';
comment on column orders.cutoff_at is 'Last block time of a payment in time: expires_at plus the grace period. Computed in UTC, because timestamptz + interval depends on a session''s time zone.';
comment on column orders.late_callback_at is 'When the last callback for late payments of an EXPIRED order was written.';
comment on column orders.late_callback_due_at is 'The order has a late payment that no callback has reported; the next callback may be written from then on.';
comment on column orders.unmatched_callback_at is 'When the last callback ORDER_UNMATCHED was written.';
comment on column orders.unmatched_callback_due_at is 'The order has an unmatched deposit that no callback has reported; the next callback may be written from then on.';
create unique index orders_signed_data on orders (merchant_id, signed_data_hash) where signed_data_hash is not null;
create index orders_open_cutoff on orders (chain, cutoff_at) where order_type = 'COLLECTION' and status in ('INIT', 'PENDING');
create index orders_confirming on orders (chain) where order_type = 'COLLECTION' and status = 'PENDING_CONFIRMATION';
create index orders_open_payouts on orders (chain, order_pk) where order_type = 'PAYOUT' and status in ('INIT', 'PENDING', 'PENDING_CONFIRMATION');
create index orders_payout_receiver on orders (address) where order_type = 'PAYOUT';
create index orders_late_callback on orders (late_callback_due_at) where late_callback_due_at is not null and status = 'EXPIRED';
create index orders_unmatched_callback on orders (unmatched_callback_due_at) where unmatched_callback_due_at is not null;

create function orders_refuse_change_of_success() returns trigger language plpgsql as $$
begin
  raise exception 'order % is SUCCESS, which is final', old.order_pk using errcode = 'integrity_constraint_violation';
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
create index deposit_address_created_at on deposit_address (created_at);

create table foreign_deposit_address ( -- writer: payout-signer
  family text not null,
  address text not null,
  derivation_index bigint not null,
  order_pk uuid not null references orders,
  found_at timestamptz not null default now(),
  primary key (family, address)
);
comment on table foreign_deposit_address is 'Rows of deposit_address that the keystore does not derive: a third party has the keys. Never swept, and its money is not ours.';

create table notification ( -- writers: api (the first of an order), tracker
  event_id uuid primary key,
  merchant_id text not null references merchant,
  subject_id uuid not null,
  sequence integer not null check (sequence > 0),
  notify_type text not null check (notify_type in ('ORDER_PENDING', 'ORDER_PENDING_CONFIRMATION', 'ORDER_SUCCESS',
    'ORDER_EXPIRED', 'ORDER_FAILED', 'ORDER_REVERTED', 'ORDER_UNMATCHED', 'COLLECT_PENDING', 'COLLECT_SUCCESS',
    'COLLECT_FAILED')),
  data text not null,
  traceparent text check (traceparent ~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$'),
  occurred_at timestamptz not null,
  created_at timestamptz not null default now(),
  unique (subject_id, sequence)
);
comment on table notification is 'Content of a callback, fixed when the event happened; subject_id is the order or the sweep, sequence its position there.';
comment on column notification.created_at is 'Start of the transaction that wrote it, by the database''s clock; occurred_at is the writer''s.';
create index notification_occurred_at on notification (occurred_at);
create index notification_created_at on notification (created_at, event_id);
alter table notification enable row level security;
-- The api may insert only the first notification of an INIT order without transfers. The keys are counted twice,
-- because jsonb keeps the last of equal keys and a merchant's parser might take the first.
create policy api_first_only on notification for insert to opentill_api with check (
  sequence = 1 and notify_type = 'ORDER_PENDING' and (
    select o.merchant_id = notification.merchant_id and o.status = 'INIT'
      and content ->> 'orderId' = o.order_id and coalesce(content ->> 'orderType', o.order_type) = o.order_type
      and content ->> 'status' = 'INIT'
      and content ->> 'transaction' is null and content ->> 'actualAmount' is null
      and (select count(*) from jsonb_object_keys(content)) = (select count(*) from json_object_keys(notification.data::json))
    from orders o, (select notification.data::jsonb as content offset 0) d
    where o.order_pk = notification.subject_id -- the only condition, so that the planner cannot choose another index while the table is new
  )
);
create policy api_reads on notification for select to opentill_api using (true);
create policy tracker_inserts on notification for insert to opentill_tracker with check (true);
create policy tracker_reads on notification for select to opentill_tracker using (true);
create policy webhook_reads on notification for select to opentill_webhook using (true);
create policy ops_reads on notification for select to opentill_ops using (true);
