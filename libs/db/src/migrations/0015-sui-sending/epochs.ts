/** Where a chain ends transactions by its epochs. */
export const EPOCHS: readonly string[] = [
  `
alter table chain_cursor add column if not exists verified_epoch bigint;
comment on column chain_cursor.verified_epoch is 'SUI: the epoch of the block at verified_height, so that all before it are over and were read. Null where a chain has none.';`,
  `
alter table payout_attempt add column if not exists first_epoch bigint, add column if not exists last_epoch bigint;
comment on column payout_attempt.last_epoch is 'Where epochs of the chain end transactions and not its time: the last that may hold it. expires_ms is then when that was expected to end.';`,
  // For every row there is it is true: nobody waits for it.
  `
alter table payout_attempt drop constraint if exists payout_attempt_epochs,
  add constraint payout_attempt_epochs check ((first_epoch is null) = (last_epoch is null) and last_epoch >= first_epoch) not valid;`,
  'alter table payout_attempt validate constraint payout_attempt_epochs',
  `
-- Whether what is bounded so can be in no block any more that was not read and verified: the own scan has verified two final blocks
-- of its end or later; or, where epochs bound it, a block of a later epoch.
create or replace function attempt_is_over(p_chain text, p_expires_ms bigint, p_last_epoch bigint) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
  select coalesce(case when p_last_epoch is null then chain_over_ms(p_chain) >= p_expires_ms
    else (select c.verified_epoch > p_last_epoch from chain_cursor c where c.chain = p_chain) end, false)
$$;
revoke all on function attempt_is_over(text, bigint, bigint) from public;
grant execute on function attempt_is_over(text, bigint, bigint) to opentill_signer;
grant insert (first_epoch, last_epoch) on payout_attempt to opentill_signer;

-- As before; and what epochs bound is dead when those are over.
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
      where f.chain = new.chain and f.tx_hash = new.tx_hash and f.state in ('MINED', 'VERIFIED')))
  then
    raise exception 'the attempt % may land yet, or has', old.tx_hash using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
`,
];
