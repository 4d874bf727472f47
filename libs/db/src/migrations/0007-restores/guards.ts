/** What follows from a restore, whoever writes. */
export const GUARDS = `
-- Whether this payout may have been paid by a transaction that this database has forgotten.
create or replace function may_have_been_paid(p_order_pk uuid) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
  select exists (
    select from orders o join forgotten_payment f
      on f.chain = o.chain and f.to_address = o.address and f.amount = o.amount
        and lower(f.contract_address) is not distinct from lower(o.contract_address)
    where o.order_pk = p_order_pk and f.order_pk is null and f.guards
  ) or exists (select from doubtful_payout d where d.order_pk = p_order_pk and d.decision is null)
$$;
revoke all on function may_have_been_paid(uuid) from public;
grant execute on function may_have_been_paid(uuid) to opentill_signer, opentill_ops;

-- The clock of a payout that waits for operators stands: also of one that is asked for while its wallet is held after a
-- restore, or that looks like one that was paid before.
create or replace function payout_waits_for_restore() returns trigger
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
revoke all on function payout_waits_for_restore() from public;
create or replace trigger payout_after_restore before insert on payout for each row execute function payout_waits_for_restore();

-- As before; but a stranger's transaction that turned out to be a payment of ours, forgotten by a restore, is the order's
-- that it is adopted for. Only the owner writes that down.
create or replace function wallet_nonce_refuse_change() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if old.state = 'TAKEN' and old.order_pk is null and new.state = 'SIGNED' and exists (
    select from forgotten_payment f where f.chain = new.chain and f.wallet = new.wallet and f.nonce = new.nonce
      and f.decision = 'ADOPTED' and f.order_pk is not distinct from new.order_pk
  ) then
    return new;
  end if;
  if old.state <> 'RESERVED' and (new.order_pk is distinct from old.order_pk or new.purpose <> old.purpose)
    or old.state = 'TAKEN' and new.state <> 'TAKEN'
    or old.state in ('SIGNED', 'FINAL') and new.state = 'RESERVED'
    or old.state = 'RESERVED' and new.state = 'FINAL'
    or old.state = 'FINAL' and new.state = 'TAKEN' then
    raise exception 'nonce % of % on % is % for its owner', old.nonce, old.wallet, old.chain, old.state
      using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
`;
