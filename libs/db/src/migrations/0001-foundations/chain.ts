/** What the EVM scanner may write. Constants alone: a policy is asked of every row. */
const EVM_CHAIN = `chain in ('ETH', 'ETH_SEPOLIA', 'BSC', 'BSC_TEST', 'POLYGON', 'POLYGON_AMOY', 'AVAX_C_CHAIN', 'AVAX_FUJI_TEST')`;
const EVM_ROW = `family = 'EVM' and ${EVM_CHAIN}`;

/** The chains as the scanners see them. */
export const CHAIN = `
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

-- A scanner writes the chains of its own family: it can't forge another's deposits, nor expire another's orders.
alter table chain_cursor enable row level security;
alter table block enable row level security;
alter table transfer enable row level security;
alter table rescan_request enable row level security;
create policy all_read on chain_cursor for select using (true);
create policy all_read on block for select using (true);
create policy all_read on transfer for select using (true);
create policy all_read on rescan_request for select using (true);
create policy evm_inserts on chain_cursor for insert to opentill_scanner_evm with check (${EVM_ROW});
create policy evm_updates on chain_cursor for update to opentill_scanner_evm using (${EVM_ROW}) with check (${EVM_ROW});
create policy evm_inserts on block for insert to opentill_scanner_evm with check (${EVM_CHAIN});
create policy evm_updates on block for update to opentill_scanner_evm using (${EVM_CHAIN}) with check (${EVM_CHAIN});
create policy evm_deletes on block for delete to opentill_scanner_evm using (${EVM_CHAIN});
create policy evm_inserts on transfer for insert to opentill_scanner_evm with check (${EVM_ROW});
create policy evm_updates on transfer for update to opentill_scanner_evm using (${EVM_ROW}) with check (${EVM_ROW});
create policy ops_asks on rescan_request for insert to opentill_ops with check (true);
create policy evm_answers on rescan_request for update to opentill_scanner_evm using (${EVM_CHAIN}) with check (${EVM_CHAIN});
`;

/** What the tracker makes of transfers. */
export const TRACKING = `
create table transfer_settlement ( -- writer: tracker: what it has made of each transfer
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
comment on column transfer_settlement.order_pk is 'The order it was settled for. Null: mined again, it went to another address, whose order has not taken it up yet.';
comment on column transfer_settlement.booked_amount is 'What stands in the ledger, as booked: a transaction mined again may move another amount or token under the same key. Null: nothing. bookings counts how often it was booked, so that each time has its own ledger reference.';
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
