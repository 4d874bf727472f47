-- Chains as the scanners see them. 18-scanner-policies.sql limits each scanner to the chains of its family.
-- Block times come from blocks, never from a clock.

create table chain_family ( -- writer: migrate, as the owner
  chain text primary key,
  family text not null
);
comment on table chain_family is 'The chains of each family; policies let a scanner write those of its own family only.';

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
  verified_epoch bigint,
  proven_after_height bigint,
  proven_height bigint,
  check (verified_height <= seen_height)
);
comment on column chain_cursor.verified_epoch is 'SUI: the epoch of the block at verified_height; all earlier epochs have ended and were read. Null where a chain has no epochs.';
comment on column chain_cursor.proven_after_height is 'SUI: every checkpoint above this height, up to proven_height, was read without a gap and checked against the digest that names it. Null: none.';
comment on column chain_cursor.proven_height is 'SUI: the end of the range that begins at proven_after_height. If it is not verified_height, the next proof begins again.';
alter table chain_cursor enable row level security;
create policy all_read on chain_cursor for select using (true);

create table block ( -- writer: scanner. The chain as seen, down to a window below the verified cursor
  chain text not null,
  height bigint not null,
  hash text not null,
  parent_hash text not null,
  block_time timestamptz not null,
  primary key (chain, height)
);
alter table block enable row level security;
create policy all_read on block for select using (true);

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
comment on column transfer.first_block_time is 'Earliest block time seen: a transfer first mined in time stays in time when it is mined again later.';
comment on column transfer.version is 'Grows with every change of state or block; the tracker stores the version that it has settled.';
create index transfer_block on transfer (chain, block_height);
create index transfer_updated_at on transfer (updated_at);
-- Finds the newest transfer of an order in one look-up; look-ups by family and address use it as well.
create index transfer_to_newest on transfer (family, to_address, chain, symbol, block_height, transfer_id);
alter table transfer enable row level security;
create policy all_read on transfer for select using (true);

create table rescan_request ( -- writers: ops inserts, scanner answers
  request_id bigint generated always as identity primary key,
  chain text not null,
  from_height bigint not null,
  to_height bigint not null check (to_height >= from_height),
  requested_at timestamptz not null default now(),
  done_at timestamptz,
  found integer,
  next_height bigint
);
comment on column rescan_request.next_height is 'First height still to be read, where another replica continues. Null: not begun.';
alter table rescan_request enable row level security;
create policy all_read on rescan_request for select using (true);
create policy ops_asks on rescan_request for insert to opentill_ops with check (true);

create table chain_pause ( -- writer: ops
  chain text primary key,
  operator text not null,
  reason text not null,
  paused_at timestamptz not null default now()
);
comment on table chain_pause is 'The scanner of a paused chain stops reading: no payment of it is credited and no order of it expires.';

create table chain_status ( -- writers: the scanner of its family and the signer, each the rows of its service
  chain text not null,
  service text not null check (service in ('SCANNER', 'SIGNER')),
  state text not null check (state in ('STARTING', 'RUNNING', 'FAILING', 'PAUSED', 'LEFT_OUT', 'HALTED')),
  reason text,
  detail text,
  since timestamptz not null default clock_timestamp(),
  primary key (chain, service)
);
comment on table chain_status is 'State of each chain by the service that works on it, written under its lease when it changes.';
comment on column chain_status.reason is 'Error code. Null while nothing is wrong.';
comment on column chain_status.since is 'Start of this state and reason.';
alter table chain_status enable row level security;
create policy all_read on chain_status for select using (true);
create policy signer_inserts on chain_status for insert to opentill_signer with check (service = 'SIGNER');
create policy signer_updates on chain_status for update to opentill_signer using (service = 'SIGNER') with check (service = 'SIGNER');

create table epoch_end ( -- writer: scanner-sui
  chain text not null,
  epoch bigint not null,
  after_height bigint not null,
  height bigint not null,
  hash text not null,
  read_at timestamptz not null default clock_timestamp(),
  primary key (chain, epoch),
  check (after_height < height)
);
comment on table epoch_end is 'SUI: the last checkpoint of an epoch as the scanner read it. It had proven every checkpoint above after_height up to it.';
alter table epoch_end enable row level security;
create policy all_read on epoch_end for select using (true);

create table epoch_committee ( -- writer: scanner-sui
  chain text not null,
  epoch bigint not null,
  members jsonb not null,
  is_trusted boolean not null,
  end_height bigint,
  end_hash text,
  learned_at timestamptz not null default clock_timestamp(),
  primary key (chain, epoch),
  check ((end_height is null) = (end_hash is null))
);
comment on table epoch_committee is 'SUI: the validators of an epoch. The first committee is trusted because nodes reported it; each later one is named by the checkpoint (end_height, end_hash) that the committee before it has signed.';
alter table epoch_committee enable row level security;
create policy all_read on epoch_committee for select using (true);
