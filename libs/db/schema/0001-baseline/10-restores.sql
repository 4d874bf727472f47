-- Restores from a backup, and transactions that are missing in this database.

create table restoration ( -- writer: opentill restore, as the owner
  restore_id uuid primary key,
  backup_id text not null,
  taken_at timestamptz not null,
  restored_at timestamptz not null default clock_timestamp()
);
comment on table restoration is 'Each restore of this database from a backup. Everything written after taken_at is lost.';

create table skipped_index ( -- writer: opentill restore, as the owner
  restore_id uuid not null references restoration,
  family text not null check (family in ('EVM', 'TRON', 'SUI')),
  from_index bigint not null,
  to_index bigint not null check (to_index >= from_index),
  primary key (restore_id, family)
);
comment on table skipped_index is 'Deposit indexes, without to_index, that may have been assigned after the backup and are never assigned again. Those below with an order were assigned before.';

create table restore_hold ( -- writer: opentill restore, as the owner
  restore_id uuid not null references restoration,
  chain text not null,
  wallet text not null,
  from_height bigint not null,
  released_at timestamptz,
  released_by text,
  released_reason text,
  read_height bigint,
  read_hash text,
  read_over_ms bigint,
  primary key (restore_id, chain, wallet),
  check ((released_at is null) = (released_by is null) and (released_at is null) = (released_reason is null))
);
comment on table restore_hold is 'While one is open its wallet signs nothing: only the restore holds its lease. from_height was verified when the backup was taken; lost transactions were mined later.';
comment on column restore_hold.read_height is 'Wallets without nonces: every block up to this one (read_hash) was read for transactions of the wallet.';
comment on column restore_hold.read_over_ms is 'Milliseconds since 1970 of the chain''s own time: a transaction that expires at this time or earlier is in no unread block.';
create index restore_hold_open on restore_hold (chain, wallet) where released_at is null;

create table forgotten_payment ( -- writer: opentill restore, as the owner
  chain text not null,
  tx_hash text not null,
  restore_id uuid not null references restoration,
  wallet text not null,
  nonce bigint,
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
  block_hash text,
  primary key (chain, tx_hash),
  check ((decision is null) = (decided_by is null)),
  check (decision = 'ADOPTED' or order_pk is null)
);
comment on table forgotten_payment is 'Transactions of a held wallet that the restored database lacked. ADOPTED: attached to order_pk again (null: it moved no money). ORDER_LOST: its order is not in this database. Without to_address it is not a payment.';
comment on column forgotten_payment.nonce is 'Null where transactions have none.';
comment on column forgotten_payment.guards is 'While true and without an order, no payout of the same amount to the same receiver is signed, because this transaction may have paid it.';
create index forgotten_payment_guard on forgotten_payment (chain, to_address) where order_pk is null and guards;
create index forgotten_payment_nonce on forgotten_payment (chain, wallet, nonce);

create table doubtful_payout ( -- writer: opentill restore, as the owner
  order_pk uuid primary key references orders,
  restore_id uuid not null references restoration,
  decision text check (decision in ('PAY', 'REFUSE', 'ADOPTED')),
  decided_by text,
  decided_reason text,
  decided_at timestamptz,
  check ((decision is null) = (decided_by is null))
);
comment on table doubtful_payout is 'Payouts that were unsigned when the backup was taken: they may have been paid, refused or expired since. An operator decides each before its wallet signs again.';
create index doubtful_payout_open on doubtful_payout (restore_id) where decision is null;

create table foreign_transaction ( -- writers: the scanners of families without nonces; halt_id: payout-signer
  chain text not null,
  tx_hash text not null,
  wallet text not null,
  block_height bigint not null,
  block_hash text not null,
  block_time timestamptz not null,
  contract_address text,
  to_address text,
  amount numeric(78, 0) check (amount > 0),
  found_at timestamptz not null default clock_timestamp(),
  halt_id uuid,
  primary key (chain, tx_hash, wallet)
);
comment on table foreign_transaction is 'Transactions in verified blocks by which a hot wallet acted or lost money and that the gateway did not sign: a third party has the key, or this database lost them in a restore. to_address, amount: the known transfer out of the wallet, if any. halt_id: the halt that the signer set for it.';
create index foreign_transaction_new on foreign_transaction (chain, wallet) where halt_id is null;
create index foreign_transaction_to on foreign_transaction (chain, wallet, to_address) where to_address is not null;
alter table foreign_transaction enable row level security;
create policy all_read on foreign_transaction for select using (true);
create policy signer_halts on foreign_transaction for update to opentill_signer using (true) with check (halt_id is not null);

create table foreign_transfer ( -- writers: the scanners of families without nonces
  chain text not null,
  tx_hash text not null,
  wallet text not null,
  place integer not null,
  contract_address text,
  to_address text not null,
  amount numeric(78, 0) not null check (amount > 0),
  primary key (chain, tx_hash, wallet, place),
  foreign key (chain, tx_hash, wallet) references foreign_transaction
);
comment on table foreign_transfer is 'All transfers of a foreign transaction to receivers other than the wallet, from any sender; the first one is in foreign_transaction too.';
create index foreign_transfer_to on foreign_transfer (chain, wallet, to_address);
alter table foreign_transfer enable row level security;
create policy all_read on foreign_transfer for select using (true);

-- True when a foreign transaction paid this payout's amount to its receiver, in one transfer or in total, and no
-- operator has decided about it since.
create function may_be_paid_by_foreign(p_order_pk uuid) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
  select exists (
    select from orders o join payout p using (order_pk) join foreign_transaction x on x.chain = o.chain and x.wallet = p.wallet
    where o.order_pk = p_order_pk
      and (x.to_address = o.address and x.amount = o.amount and x.contract_address is not distinct from o.contract_address
        or x.tx_hash in (
          select y.tx_hash from foreign_transfer y
          where y.chain = o.chain and y.wallet = p.wallet and y.to_address = o.address
            and y.contract_address is not distinct from o.contract_address
          group by y.tx_hash having bool_or(y.amount = o.amount) or sum(y.amount) = o.amount))
      and not exists (select from own_transaction t where t.chain = x.chain and t.tx_hash = x.tx_hash)
      and not exists (select from forgotten_payment f where f.chain = x.chain and f.tx_hash = x.tx_hash and f.decision is not null)
      and not exists (select from payout_decision d
        where d.order_pk = o.order_pk and d.decision = 'PAY_AGAIN' and d.decided_at > x.found_at))
$$;

-- True when a transaction lost in a restore, or a foreign one, may have paid this payout.
create function may_have_been_paid(p_order_pk uuid) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
  select exists (
    select from orders o join forgotten_payment f
      on f.chain = o.chain and f.to_address = o.address and f.amount = o.amount
        and lower(f.contract_address) is not distinct from lower(o.contract_address)
    where o.order_pk = p_order_pk and f.order_pk is null and f.guards
  ) or exists (select from doubtful_payout d where d.order_pk = p_order_pk and d.decision is null)
    or may_be_paid_by_foreign(p_order_pk)
$$;

-- Stops the expiry clock of a new payout if its wallet is held after a restore, or if it resembles a lost payment.
create function payout_waits_for_restore() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if new.state = 'REQUESTED' and new.waiting_since is null and (
    exists (select from restore_hold h where h.chain = new.chain and h.wallet = new.wallet and h.released_at is null)
    or may_have_been_paid(new.order_pk)
  ) then
    new.waiting_since := clock_timestamp();
    new.obstacle := 'MAYBE_PAID';
    new.obstacle_at := new.waiting_since;
  end if;
  return new;
end $$;
create trigger payout_after_restore before insert on payout for each row execute function payout_waits_for_restore();
