/**
 * Deposit addresses that payout-signer cannot derive from its seed: an order's money would go to other keys. The signer checks
 * new rows by `created_at`, and all rows in turn. Only added to.
 */
export const name = '0030-foreign-deposit-addresses';

const TABLE = `
create table if not exists foreign_deposit_address ( -- writer: payout-signer
  family text not null,
  address text not null,
  derivation_index bigint not null,
  order_pk uuid not null references orders,
  found_at timestamptz not null default now(),
  primary key (family, address)
);
comment on table foreign_deposit_address is 'Rows of deposit_address that the keystore does not derive: a third party has the keys. Never swept, and no money of ours.';
grant select, insert on foreign_deposit_address to opentill_signer;
grant select on foreign_deposit_address to opentill_ops;`;

const INDEX =
  'create index concurrently if not exists deposit_address_created_at on deposit_address (created_at)';

const NO_INVALID_INDEX = `do $$ begin
  if exists (select from pg_index where indexrelid = to_regclass('public.deposit_address_created_at') and not indisvalid) then
    drop index public.deposit_address_created_at;
  end if;
end $$`;

export const sql = [TABLE, NO_INVALID_INDEX, INDEX];
