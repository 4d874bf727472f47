/** All that a transaction moved which a hot wallet made and nobody here signed: one may pay many payouts. Only added to. */
export const name = '0017-foreign-transfers';

const chainOf = (family: string) =>
  `chain = any (array(select f.chain from chain_family f where f.family = '${family}'))`;

const FOREIGN_TRANSFERS = `
create table if not exists foreign_transfer ( -- writers: the scanners of families without nonces
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
comment on table foreign_transfer is 'All that a foreign transaction moved to others than the wallet, whoever gave it; the first of them stands in foreign_transaction too.';
create index if not exists foreign_transfer_to on foreign_transfer (chain, wallet, to_address);
alter table foreign_transfer enable row level security;
drop policy if exists all_read on foreign_transfer;
create policy all_read on foreign_transfer for select using (true);
drop policy if exists tron_inserts on foreign_transfer;
create policy tron_inserts on foreign_transfer for insert to opentill_scanner_tron with check (${chainOf('TRON')});
drop policy if exists sui_inserts on foreign_transfer;
create policy sui_inserts on foreign_transfer for insert to opentill_scanner_sui with check (${chainOf('SUI')});
grant select, insert on foreign_transfer to opentill_scanner_tron, opentill_scanner_sui;
grant select on foreign_transfer to opentill_signer, opentill_ops;
`;

/** As before, by any of what the transaction moved, and by what a receiver got of it in all. */
const MAYBE_PAID = `
create or replace function may_be_paid_by_foreign(p_order_pk uuid) returns boolean
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
`;

export const sql = [FOREIGN_TRANSFERS, MAYBE_PAID];
