/** What lies on deposit addresses, what is on its way from there, and what the gateway itself moves. */
export const SWEEP_TABLES = `
create table if not exists deposit_balance ( -- writer: triggers and functions of this migration alone
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
  primary key (chain, address, symbol)
);
comment on table deposit_balance is 'What lies on a deposit address of one asset: received - swept, of which reserved is promised to a sweep that has not ended.';
comment on column deposit_balance.received is 'Verified transfers to it, as the ledger has booked them: credited, of open orders, and unmatched alike.';
comment on column deposit_balance.swept is 'Left it by sweeps that are verified. More than was received only where a reorganisation took a deposit back.';
comment on column deposit_balance.since is 'When the oldest of what lies there may have come: the last time that nothing was free to be swept.';
create index if not exists deposit_unswept on deposit_balance (chain, symbol, since) where received > swept + reserved;

create table if not exists sweep ( -- writer: payout-signer (its planner)
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
  obstacle text,
  obstacle_at timestamptz,
  rent_ref text,
  rent_cost numeric(78, 0) check (rent_cost >= 0),
  fencing_token bigint,
  planned_at timestamptz not null default now(),
  ended_at timestamptz,
  version integer not null default 1,
  updated_at timestamptz not null default now(),
  check ((ended_at is not null) = (state <> 'OPEN'))
);
comment on table sweep is 'The plan to empty one deposit address of one asset, with all that it takes: its movements say how far it is.';
comment on column sweep.method is 'TOP_UP: native coin for the fee comes from the hot wallet. STAKE: energy is lent from own stake. RENT: energy is bought. FREE: the address can pay by itself.';
comment on column sweep.cost_estimate is 'In the native coin, when it was planned.';
create unique index if not exists sweep_one_open on sweep (chain, address) where state = 'OPEN';
create index if not exists sweep_open on sweep (chain, planned_at) where state = 'OPEN';
create index if not exists sweep_address on sweep (chain, address);

create table if not exists movement ( -- writer: plan_movement(), refund_deposit()
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
  check ((sweep_id is not null) = (kind in ('SWEEP', 'GAS_TOP_UP', 'DELEGATE', 'UNDELEGATE'))),
  check ((transfer_id is not null) = (kind = 'REFUND')),
  check ((source_kind is null) = (kind in ('DELEGATE', 'UNDELEGATE'))),
  check ((source_kind is null) = (reserved_kind is null) and (source_kind is null) = (sent_kind is null)
    and (source_kind is null) = (target_kind is null))
);
comment on table movement is 'A payout that no merchant asked for: the gateway moves money between its own places, or gives a deposit back. It goes the way of every payout: one row of payout, one nonce or attempt at a time, the same proofs.';
comment on column movement.source_kind is 'Between which accounts of the ledger its amount walks: source, reserved, sent, target. None of a delegation, which moves no money.';
create index if not exists movement_sweep on movement (sweep_id) where sweep_id is not null;
create index if not exists movement_transfer on movement (transfer_id) where transfer_id is not null;

create table if not exists sweep_pause ( -- writer: ops
  chain text primary key,
  operator text not null,
  reason text not null,
  paused_at timestamptz not null default now()
);
comment on table sweep_pause is 'No sweep begins on these chains; what has begun is ended.';

create table if not exists sweep_plan ( -- writer: payout-signer (its planner)
  chain text primary key,
  plan jsonb not null,
  planned_at timestamptz not null default now()
);
comment on table sweep_plan is 'What the planner would do now, with its costs, and why the rest waits: for operators.';

create table if not exists sweep_request ( -- writer: ops; handled by payout-signer
  request_id bigint generated always as identity primary key,
  chain text not null,
  operator text not null,
  requested_at timestamptz not null default now(),
  handled_at timestamptz,
  planned integer
);
comment on table sweep_request is 'An operator wants what lies there swept now: without waiting for its age, never above the policy''s bounds of cost.';
create index if not exists sweep_request_open on sweep_request (chain) where handled_at is null;
`;
