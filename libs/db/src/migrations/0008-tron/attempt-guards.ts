/** What may never happen to attempts, and to payouts because of them, whoever tries. */
export const ATTEMPT_GUARDS = `
-- What expires at this time of the chain, or before, is over: the gateway's own scan has verified two blocks, one after the
-- other, that the chain itself calls final and that are not earlier. Null: nothing is known to be.
create or replace function chain_over_ms(p_chain text) returns bigint
language sql stable security definer set search_path = public, pg_temp as $$
  select (extract(epoch from least(before.block_time, last.block_time)) * 1000)::bigint
  from chain_cursor c
    join block last on last.chain = c.chain and last.height = least(c.verified_height, c.finalized_height)
    join block before on before.chain = c.chain and before.height = last.height - 1
  where c.chain = p_chain and c.finalized_height is not null
$$;
revoke all on function chain_over_ms(text) from public;

-- Bounds stand as they were signed. DEAD is for ever, and needs the chain's own time to be past the end, and that the own scan
-- has seen it in no block that still counts.
create or replace function payout_attempt_refuse_change() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    if new.state <> 'OPEN' or not exists (
      select from own_transaction t where t.chain = new.chain and t.tx_hash = new.tx_hash and t.wallet = new.wallet
        and t.order_pk = new.order_pk and t.nonce is null
    ) then
      raise exception 'the attempt % is none of that payout', new.tx_hash using errcode = 'integrity_constraint_violation';
    end if;
    return new;
  end if;
  if (new.chain, new.tx_hash, new.wallet, new.order_pk, new.unique_ms, new.expires_ms, new.reference_height, new.reference_hash)
      is distinct from
     (old.chain, old.tx_hash, old.wallet, old.order_pk, old.unique_ms, old.expires_ms, old.reference_height, old.reference_hash)
    or old.state = 'DEAD'
  then
    raise exception 'the attempt % is % for ever', old.tx_hash, old.state using errcode = 'integrity_constraint_violation';
  end if;
  if new.state = 'DEAD' and not (old.state = 'OPEN'
    and coalesce(chain_over_ms(new.chain) >= new.expires_ms, false)
    and not exists (
      select from own_transaction_fate f
      where f.chain = new.chain and f.tx_hash = new.tx_hash and f.state in ('MINED', 'VERIFIED')))
  then
    raise exception 'the attempt % may land yet, or has', old.tx_hash using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
revoke all on function payout_attempt_refuse_change() from public;
create or replace trigger payout_attempt_kept before insert or update on payout_attempt for each row
  execute function payout_attempt_refuse_change();
create or replace trigger payout_attempt_not_removed before delete on payout_attempt for each row execute function refuse_removal();
create or replace trigger payout_attempt_not_emptied before truncate on payout_attempt execute function refuse_removal();

-- Whether everything that was ever signed for a payout is proven to land nowhere.
create or replace function payout_is_unpaid(p_order_pk uuid) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
  select exists (select from payout_attempt a where a.order_pk = p_order_pk)
    and not exists (
      select from own_transaction t left join payout_attempt a using (chain, tx_hash)
        left join own_transaction_fate f using (chain, tx_hash)
      where t.order_pk = p_order_pk and (a.state is distinct from 'DEAD' or f.state in ('MINED', 'VERIFIED')))
$$;
revoke all on function payout_is_unpaid(uuid) from public;

-- As before; and a signed payout goes back when all that was signed for it is dead.
create or replace function payout_refuse_change() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if new.state <> old.state and not (
    old.state = 'REQUESTED' and new.state in ('AUTHORISED', 'REFUSED', 'EXPIRED')
    or old.state = 'AUTHORISED' and new.state in ('SIGNED', 'REFUSED', 'EXPIRED')
    or old.state = 'SIGNED' and new.state = 'AUTHORISED' and payout_is_unpaid(old.order_pk)
  ) then
    raise exception 'payout % is % and does not become %', old.order_pk, old.state, new.state using errcode = 'integrity_constraint_violation';
  elsif old.first_sent_at is not null and new.first_sent_at is distinct from old.first_sent_at then
    raise exception 'payout % was sent', old.order_pk using errcode = 'integrity_constraint_violation';
  elsif old.first_sent_at is null and new.first_sent_at is not null and new.state <> 'SIGNED' then
    raise exception 'payout % is not signed', old.order_pk using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
`;
