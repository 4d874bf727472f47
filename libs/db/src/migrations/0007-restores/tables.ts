/** Written by the owner alone: by the operator who restores. */
export const RESTORE_TABLES = `
create table if not exists restoration ( -- writer: opentill restore, as the owner
  restore_id uuid primary key,
  backup_id text not null,
  taken_at timestamptz not null,
  restored_at timestamptz not null default clock_timestamp()
);
comment on table restoration is 'Each time that this database was brought back from a backup. taken_at: what was written later is forgotten.';

create table if not exists skipped_index ( -- writer: opentill restore, as the owner
  restore_id uuid not null references restoration,
  family text not null check (family in ('EVM', 'TRON', 'SUI')),
  from_index bigint not null,
  to_index bigint not null check (to_index >= from_index),
  primary key (restore_id, family)
);
comment on table skipped_index is 'Deposit indexes, without to_index, that were perhaps given out after the backup and never are again. Those below that have an order were given out before.';

create table if not exists restore_hold ( -- writer: opentill restore, as the owner
  restore_id uuid not null references restoration,
  chain text not null,
  wallet text not null,
  from_height bigint not null,
  released_at timestamptz,
  released_by text,
  released_reason text,
  primary key (restore_id, chain, wallet),
  check ((released_at is null) = (released_by is null) and (released_at is null) = (released_reason is null))
);
comment on table restore_hold is 'While one is open its wallet signs nothing: nobody but the restore has its lease. from_height: verified when the backup was taken; what is forgotten was mined later.';
create index if not exists restore_hold_open on restore_hold (chain, wallet) where released_at is null;

create table if not exists forgotten_payment ( -- writer: opentill restore, as the owner
  chain text not null,
  tx_hash text not null,
  restore_id uuid not null references restoration,
  wallet text not null,
  nonce bigint not null,
  raw bytea not null,
  contract_address text,
  to_address text,
  amount numeric(78, 0) check (amount >= 0),
  block_height bigint not null,
  block_time timestamptz not null,
  found_at timestamptz not null default clock_timestamp(),
  decision text check (decision in ('ADOPTED', 'ORDER_LOST')),
  order_pk uuid references orders,
  decided_by text,
  decided_reason text,
  decided_at timestamptz,
  guards boolean not null default true,
  primary key (chain, tx_hash),
  check ((decision is null) = (decided_by is null)),
  check (decision = 'ADOPTED' or order_pk is null)
);
comment on table forgotten_payment is 'Transactions of a held wallet that the restored database did not know. ADOPTED: its own again, for that order (or for none: it moved nothing). ORDER_LOST: its order is not in this database. No receiver: it is no payment.';
comment on column forgotten_payment.guards is 'While it is of no order and guards, no payout of the same amount to the same receiver is signed: it may be the one that was paid.';
create index if not exists forgotten_payment_guard on forgotten_payment (chain, to_address) where order_pk is null and guards;
create index if not exists forgotten_payment_nonce on forgotten_payment (chain, wallet, nonce);

create table if not exists doubtful_payout ( -- writer: opentill restore, as the owner
  order_pk uuid primary key references orders,
  restore_id uuid not null references restoration,
  decision text check (decision in ('PAY', 'REFUSE', 'ADOPTED')),
  decided_by text,
  decided_reason text,
  decided_at timestamptz,
  check ((decision is null) = (decided_by is null))
);
comment on table doubtful_payout is 'Payouts that were unsigned when the backup was taken: they may have been paid, refused or expired since. Each is decided before its wallet signs again.';
create index if not exists doubtful_payout_open on doubtful_payout (restore_id) where decision is null;

grant select on restoration, skipped_index, restore_hold, doubtful_payout to opentill_ops, opentill_signer;
grant select (chain, tx_hash, restore_id, wallet, nonce, contract_address, to_address, amount, block_height, block_time, found_at,
  decision, order_pk, decided_by, decided_reason, decided_at, guards) on forgotten_payment to opentill_ops, opentill_signer;
`;
