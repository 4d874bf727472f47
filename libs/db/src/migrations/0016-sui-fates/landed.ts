const SUI_CHAIN = `chain = any (array(select f.chain from chain_family f where f.family = 'SUI'))`;

/**
 * What the own scan has read in verified checkpoints is not dead, whatever nodes say of it when they are asked for it: their indexes
 * may lack what their checkpoints have.
 */
export const LANDED: readonly string[] = [
  `
create table if not exists own_transaction_landed ( -- writer: scanner-sui
  chain text not null,
  tx_hash text not null,
  block_height bigint not null,
  block_hash text not null,
  found_at timestamptz not null default clock_timestamp(),
  primary key (chain, tx_hash),
  foreign key (chain, tx_hash) references own_transaction
);
comment on table own_transaction_landed is 'SUI: attempts that the verified reading found in a checkpoint, which two sources gave whole. What became of them own_transaction_fate says, later; none of them is ever dead.';
alter table own_transaction_landed enable row level security;
drop policy if exists all_read on own_transaction_landed;
create policy all_read on own_transaction_landed for select using (true);
drop policy if exists sui_inserts on own_transaction_landed;
create policy sui_inserts on own_transaction_landed for insert to opentill_scanner_sui with check (${SUI_CHAIN});
grant select, insert on own_transaction_landed to opentill_scanner_sui;
grant select on own_transaction_landed to opentill_signer, opentill_ops;`,
  `
-- As before; and what stands in a verified checkpoint is not dead.
create or replace function payout_attempt_refuse_change() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    if new.state <> 'OPEN' or not exists (
      select from own_transaction t where t.chain = new.chain and t.tx_hash = new.tx_hash and t.wallet = new.wallet
        and t.order_pk = new.order_pk and t.nonce is null and (new.last_epoch is not null) = (t.family = 'SUI')
    ) then
      raise exception 'the attempt % is none of that payout', new.tx_hash using errcode = 'integrity_constraint_violation';
    end if;
    return new;
  end if;
  if (new.chain, new.tx_hash, new.wallet, new.order_pk, new.unique_ms, new.expires_ms, new.reference_height, new.reference_hash,
      new.first_epoch, new.last_epoch)
      is distinct from
     (old.chain, old.tx_hash, old.wallet, old.order_pk, old.unique_ms, old.expires_ms, old.reference_height, old.reference_hash,
      old.first_epoch, old.last_epoch)
    or old.state = 'DEAD'
  then
    raise exception 'the attempt % is % for ever', old.tx_hash, old.state using errcode = 'integrity_constraint_violation';
  end if;
  if new.state = 'DEAD' and not (old.state = 'OPEN'
    and attempt_is_over(new.chain, new.expires_ms, new.last_epoch)
    and not exists (
      select from own_transaction_fate f
      where f.chain = new.chain and f.tx_hash = new.tx_hash and f.state in ('MINED', 'VERIFIED'))
    and not exists (select from own_transaction_landed l where l.chain = new.chain and l.tx_hash = new.tx_hash))
  then
    raise exception 'the attempt % may land yet, or has', old.tx_hash using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
`,
];
