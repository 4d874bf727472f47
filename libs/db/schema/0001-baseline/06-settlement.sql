-- The tracker's results for transfers, incidents, holds, and the operators' decisions on orders.

create table transfer_settlement ( -- writer: tracker
  transfer_id bigint primary key references transfer,
  settled_version integer not null,
  order_pk uuid references orders,
  booked_amount numeric(78, 0) check (booked_amount > 0),
  booked_symbol text,
  booked boolean not null generated always as (booked_amount is not null) stored,
  bookings integer not null default 0,
  credited boolean not null default false,
  updated_at timestamptz not null default now(),
  check ((booked_amount is null) = (booked_symbol is null))
);
comment on column transfer_settlement.order_pk is 'The order it was settled for. Null: mined again, it paid another address, whose order has not settled it yet.';
comment on column transfer_settlement.booked_amount is 'Amount in the ledger, as booked: a transaction mined again may move another amount or token under the same key. Null: nothing is booked. bookings counts its bookings, so that each has its own ledger reference.';
comment on column transfer_settlement.credited is 'Part of the actual_amount of an order that is SUCCESS.';
create index transfer_settlement_order on transfer_settlement (order_pk);

create table unmatched_deposit ( -- writer: tracker
  transfer_id bigint primary key references transfer,
  merchant_id text not null references merchant,
  order_pk uuid not null references orders,
  reason text not null check (reason in ('WRONG_TOKEN', 'WRONG_CHAIN', 'LATE', 'UNDERPAID', 'AFTER_SUCCESS', 'ORDER_FAILED')),
  withdrawn boolean not null default false,
  dust boolean not null default false,
  reported boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on column unmatched_deposit.dust is 'Below the minimum of its token: operators see it, the api and callbacks omit it.';
comment on column unmatched_deposit.reported is 'A callback ORDER_UNMATCHED has contained it. No other callback is sent because of it, also if it is withdrawn and comes back.';
create index unmatched_deposit_shown on unmatched_deposit (order_pk, transfer_id) where not withdrawn and not dust;

create table incident ( -- writer: tracker
  incident_id uuid primary key,
  kind text not null check (kind in
    ('CREDITED_TRANSFER_ORPHANED', 'PAYOUT_ORPHANED', 'PAYOUT_SHORT', 'TOP_UP_ORPHANED', 'FOREIGN_NONCE', 'RESTORED')),
  chain text not null,
  symbol text,
  order_pk uuid references orders,
  transfer_id bigint references transfer,
  details jsonb not null default '{}',
  opened_at timestamptz not null,
  closed_at timestamptz,
  closed_by text,
  closed_reason text
);

create table asset_hold ( -- writers: tracker sets, ops releases
  hold_id uuid primary key,
  chain text not null,
  symbol text not null,
  incident_id uuid references incident,
  reason text not null,
  set_at timestamptz not null,
  released_at timestamptz,
  set_by text,
  released_by text,
  released_reason text
);
create index asset_hold_open on asset_hold (chain, symbol) where released_at is null;

create table order_decision ( -- writer: ops; tracker handles
  decision_id uuid primary key,
  order_pk uuid not null references orders,
  decision text not null check (decision in ('ACCEPT', 'REFUSE')),
  reason text not null,
  operator text not null,
  decided_at timestamptz not null default now(),
  handled_at timestamptz,
  outcome text check (outcome in ('DONE', 'NOT_POSSIBLE')),
  transfer_id bigint references transfer,
  transfer_symbol text,
  transfer_amount numeric(78, 0),
  worth numeric(78, 0),
  check ((handled_at is null) = (outcome is null)),
  constraint order_decision_other_money check (
    (transfer_id is null and transfer_symbol is null and transfer_amount is null and worth is null)
    or (decision = 'ACCEPT' and transfer_symbol is not null and transfer_amount > 0 and worth > 0))
);
comment on column order_decision.outcome is 'NOT_POSSIBLE: the order''s state did not allow it when the tracker handled it.';
comment on column order_decision.transfer_id is 'ACCEPT of money that the order did not ask for: the transfer with symbol and amount, as the operator saw it. If a reorganisation changes it, it is not the accepted one.';
comment on column order_decision.worth is 'The value that it counts as, in base units of the order''s own token, set by the operator.';
create unique index order_decision_one_open on order_decision (order_pk) where handled_at is null;
create index order_decision_open on order_decision (decided_at) where handled_at is null;
create index order_decision_order on order_decision (order_pk);
create index order_decision_transfer on order_decision (transfer_id) where transfer_id is not null;
