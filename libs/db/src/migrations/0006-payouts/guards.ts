/** What may never happen to these rows, whoever tries. */
export const GUARDS = `
create or replace function payout_refuse_change() returns trigger language plpgsql as $$
begin
  if new.state <> old.state and not (
    old.state = 'REQUESTED' and new.state in ('AUTHORISED', 'REFUSED', 'EXPIRED')
    or old.state = 'AUTHORISED' and new.state in ('SIGNED', 'REFUSED', 'EXPIRED')
  ) then
    raise exception 'payout % is % and does not become %', old.order_pk, old.state, new.state using errcode = 'integrity_constraint_violation';
  elsif old.first_sent_at is not null and new.first_sent_at is distinct from old.first_sent_at then
    raise exception 'payout % was sent', old.order_pk using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
revoke all on function payout_refuse_change() from public;
create or replace trigger payout_kept before update on payout for each row
  when (old.state <> new.state or old.first_sent_at is distinct from new.first_sent_at) execute function payout_refuse_change();

-- A nonce that was signed for is that payout's, or that cancel's, for ever: its bytes are in the world. FINAL opens again by
-- a reorganisation deeper than the depth that counted.
create or replace function wallet_nonce_refuse_change() returns trigger language plpgsql as $$
begin
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
revoke all on function wallet_nonce_refuse_change() from public;
create or replace trigger wallet_nonce_kept before update on wallet_nonce for each row
  when (old.state <> 'RESERVED' or new.state = 'FINAL') execute function wallet_nonce_refuse_change();

-- A payout that was signed, and whose nonce something else used, may have been paid all the same: by what this database forgot
-- when it was restored. It gets another nonce only by an operator's word about each nonce that it lost.
create or replace function wallet_nonce_refuse_again() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if exists (
    select from wallet_nonce t where t.order_pk = new.order_pk and t.state = 'TAKEN' and not exists (
      select from payout_decision d where d.order_pk = t.order_pk and d.nonce = t.nonce and d.decision = 'PAY_AGAIN'
        and d.outcome is distinct from 'NOT_POSSIBLE')
  ) then
    raise exception 'payout % lost a nonce, and nobody decided that it is paid again', new.order_pk
      using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
revoke all on function wallet_nonce_refuse_again() from public;
create or replace trigger wallet_nonce_inserted_again before insert on wallet_nonce for each row
  when (new.state = 'SIGNED' and new.order_pk is not null) execute function wallet_nonce_refuse_again();
create or replace trigger wallet_nonce_signed_again before update on wallet_nonce for each row
  when (old.state = 'RESERVED' and new.state = 'SIGNED' and new.order_pk is not null) execute function wallet_nonce_refuse_again();

create or replace function payout_decision_refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'the decision % is carried out', old.decision_id using errcode = 'integrity_constraint_violation';
end $$;
revoke all on function payout_decision_refuse_change() from public;
create or replace trigger payout_decision_kept before update on payout_decision for each row
  when (old.handled_at is not null) execute function payout_decision_refuse_change();

create or replace function refuse_removal() returns trigger language plpgsql as $$
begin
  raise exception '% is kept for ever', tg_table_name using errcode = 'integrity_constraint_violation';
end $$;
revoke all on function refuse_removal() from public;
create or replace trigger audit_entry_kept before update or delete on audit_entry for each row execute function refuse_removal();
create or replace trigger audit_entry_not_emptied before truncate on audit_entry execute function refuse_removal();
create or replace trigger own_transaction_kept before delete on own_transaction for each row execute function refuse_removal();
create or replace trigger own_transaction_not_emptied before truncate on own_transaction execute function refuse_removal();
create or replace trigger wallet_nonce_not_removed before delete on wallet_nonce for each row execute function refuse_removal();
create or replace trigger wallet_nonce_not_emptied before truncate on wallet_nonce execute function refuse_removal();

-- A foreign nonce is an incident: opened and closed with its halt, which is the one thing that the signer writes of it.
create or replace function foreign_nonce_is_incident() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    insert into incident (incident_id, kind, chain, details, opened_at)
      values (new.halt_id, 'FOREIGN_NONCE', new.chain, jsonb_build_object('wallet', new.wallet, 'reason', new.reason), new.set_at);
  else
    update incident set closed_at = new.released_at, closed_by = new.released_by, closed_reason = new.released_reason
      where incident_id = new.halt_id and closed_at is null;
  end if;
  return null;
end $$;
revoke all on function foreign_nonce_is_incident() from public;
create or replace trigger wallet_halt_is_incident after insert on wallet_halt for each row
  when (new.kind = 'FOREIGN_NONCE') execute function foreign_nonce_is_incident();
create or replace trigger wallet_halt_ends_incident after update of released_at on wallet_halt for each row
  when (new.kind = 'FOREIGN_NONCE' and old.released_at is null and new.released_at is not null)
  execute function foreign_nonce_is_incident();
`;

/** The one way in which a payout expires. */
export const EXPIRY = `
-- Expires those whose time is up, by the database's clock, and that nobody has signed: this and the signer's step to SIGNED
-- change one row from the state that they found it in, so never both. Locked in the order of their keys.
-- While transactions of the wallet are known of that this database does not know, none expires: it may have been paid by one.
-- What the signer suspects (CHAIN_AHEAD) counts for two minutes: by then it has halted the wallet, or was mistaken.
-- @returns those that expired now.
create or replace function expire_payouts(p_order_pks uuid[]) returns setof uuid
language sql security definer set search_path = public, pg_temp as $$
  with due as (
    select order_pk from payout
    where order_pk = any(p_order_pks) and state in ('REQUESTED', 'AUTHORISED') and waiting_since is null
      and clock_timestamp() >= expires_at
      and not coalesce(obstacle = 'CHAIN_AHEAD' and obstacle_at > clock_timestamp() - interval '2 minutes', false)
      and not exists (select from wallet_halt h where h.chain = payout.chain and (h.wallet is null or h.wallet = payout.wallet)
        and h.kind in ('FOREIGN_NONCE', 'RESTORED') and h.released_at is null)
    order by order_pk for update
  )
  update payout p set state = 'EXPIRED', reason = 'Payout expired', version = p.version + 1, updated_at = clock_timestamp()
    from due where p.order_pk = due.order_pk returning p.order_pk
$$;
revoke all on function expire_payouts(uuid[]) from public;
`;
