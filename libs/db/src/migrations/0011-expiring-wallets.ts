/**
 * Wallets without nonces: what one sent that the gateway did not sign is written down by the scanner that saw it; and after a
 * restore a wallet is reconciled by what its chain's blocks hold, as far as they were read. Only added to.
 */
export const name = '0011-expiring-wallets';

const TRON_CHAIN = `chain = any (array(select f.chain from chain_family f where f.family = 'TRON'))`;

const RESTORES = `
alter table restore_hold
  add column if not exists read_height bigint,
  add column if not exists read_hash text,
  add column if not exists read_over_ms bigint;
comment on column restore_hold.read_height is 'Of a wallet without nonces: up to this block, read_hash, every block was read for what the wallet sent.';
comment on column restore_hold.read_over_ms is 'Milliseconds since 1970 of the chain''s own time: what ends then or before can be in no block that was not read.';
alter table forgotten_payment
  add column if not exists block_hash text,
  alter column nonce drop not null;
comment on column forgotten_payment.nonce is 'Null where transactions have none.';
`;

const FOREIGN_TRANSACTIONS = `
create table if not exists foreign_transaction ( -- writers: the scanners of families without nonces; halt_id: payout-signer
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
comment on table foreign_transaction is 'Transactions in verified blocks by which a hot wallet acted or money left it, and that the gateway did not sign: somebody else has the key, or this database forgot them. to_address, amount: what it moved out of the wallet, where it is known to have moved something. halt_id: the halt that the signer set for it.';
create index if not exists foreign_transaction_new on foreign_transaction (chain, wallet) where halt_id is null;
create index if not exists foreign_transaction_to on foreign_transaction (chain, wallet, to_address) where to_address is not null;
alter table foreign_transaction enable row level security;
drop policy if exists all_read on foreign_transaction;
create policy all_read on foreign_transaction for select using (true);
drop policy if exists tron_inserts on foreign_transaction;
create policy tron_inserts on foreign_transaction for insert to opentill_scanner_tron with check (halt_id is null and ${TRON_CHAIN});
drop policy if exists signer_halts on foreign_transaction;
create policy signer_halts on foreign_transaction for update to opentill_signer using (true) with check (halt_id is not null);
grant select, insert on foreign_transaction to opentill_scanner_tron;
grant select, update (halt_id) on foreign_transaction to opentill_signer;
grant select on foreign_transaction to opentill_ops;
`;

/** A transaction that nobody here signed, and that pays just what a payout asks for, may have paid it: until an operator says which. */
const MAYBE_PAID = `
alter table payout_decision drop constraint if exists payout_decision_check1;
comment on column payout_decision.nonce is 'Of PAY_AGAIN: the nonce of the payout that is TAKEN, where there are nonces. A decision is about this one and no later one.';

create or replace function may_be_paid_by_foreign(p_order_pk uuid) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
  select exists (
    select from orders o join payout p using (order_pk) join foreign_transaction x
      on x.chain = o.chain and x.wallet = p.wallet and x.to_address = o.address and x.amount = o.amount
        and x.contract_address is not distinct from o.contract_address
    where o.order_pk = p_order_pk
      and not exists (select from own_transaction t where t.chain = x.chain and t.tx_hash = x.tx_hash)
      and not exists (select from forgotten_payment f where f.chain = x.chain and f.tx_hash = x.tx_hash and f.decision is not null)
      and not exists (select from payout_decision d
        where d.order_pk = o.order_pk and d.decision = 'PAY_AGAIN' and d.decided_at > x.found_at))
$$;
revoke all on function may_be_paid_by_foreign(uuid) from public;
grant execute on function may_be_paid_by_foreign(uuid) to opentill_signer, opentill_ops;

create or replace function may_have_been_paid(p_order_pk uuid) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
  select exists (
    select from orders o join forgotten_payment f
      on f.chain = o.chain and f.to_address = o.address and f.amount = o.amount
        and lower(f.contract_address) is not distinct from lower(o.contract_address)
    where o.order_pk = p_order_pk and f.order_pk is null and f.guards
  ) or exists (select from doubtful_payout d where d.order_pk = p_order_pk and d.decision is null)
    or may_be_paid_by_foreign(p_order_pk)
$$;
`;

export const sql = [RESTORES, FOREIGN_TRANSACTIONS, MAYBE_PAID];
