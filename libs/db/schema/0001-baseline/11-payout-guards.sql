-- Invariants of payouts, nonces and attempts, for every writer; and the expiry of payouts.

-- Chain time up to which expiry is proven: the scanner has verified two consecutive finalized blocks that are not
-- earlier. Null: unknown.
create function chain_over_ms(p_chain text) returns bigint
language sql stable security definer set search_path = public, pg_temp as $$
  select (extract(epoch from least(before.block_time, last.block_time)) * 1000)::bigint
  from chain_cursor c
    join block last on last.chain = c.chain and last.height = least(c.verified_height, c.finalized_height)
    join block before on before.chain = c.chain and before.height = last.height - 1
  where c.chain = p_chain and c.finalized_height is not null
$$;

-- True when an attempt with these bounds cannot be in an unread block: the scanner has verified two final blocks
-- at its end or later, or, on chains with epochs, a block of a later epoch.
create function attempt_is_over(p_chain text, p_expires_ms bigint, p_last_epoch bigint) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
  select coalesce(case when p_last_epoch is null then chain_over_ms(p_chain) >= p_expires_ms
    else (select c.verified_epoch > p_last_epoch from chain_cursor c where c.chain = p_chain) end, false)
$$;

-- True when an operator has decided PAY_AGAIN since the last attempt was signed and since each dead one died, and
-- the decision is still pending. An earlier decision concerns another attempt.
create function attempt_is_decided(p_order_pk uuid) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
  select exists (
    select from payout_decision d
    where d.order_pk = p_order_pk and d.decision = 'PAY_AGAIN' and d.handled_at is null
      and d.decided_at > greatest(
        (select max(t.signed_at) from own_transaction t where t.order_pk = p_order_pk),
        (select max(a.updated_at) from payout_attempt a where a.order_pk = p_order_pk and a.state = 'DEAD')))
$$;

-- Reason why it is not proven that every checkpoint above p_after_height, up to the end of epoch p_last_epoch,
-- lacks a transaction that the scanner did not find. Null: it is proven, or the chain has no epochs.
create function why_epochs_unproven(p_chain text, p_after_height bigint, p_last_epoch bigint) returns text
language sql stable security definer set search_path = public, pg_temp as $$
  select case when p_last_epoch is null then null
    when e.chain is null then 'the own scan has not proven the checkpoints up to the end of epoch ' || p_last_epoch
    when e.after_height > p_after_height
      then 'the own scan has proven no checkpoint up to ' || e.after_height || ', and it may have landed above ' || p_after_height
    when c.end_hash is null then 'the end of epoch ' || p_last_epoch || ' is not known to be certified by its validators'
    when (c.end_height, c.end_hash) <> (e.height, e.hash)
      then 'the validators of epoch ' || p_last_epoch || ' certified another end of it than the own scan read'
  end
  from (select) one
    left join epoch_end e on e.chain = p_chain and e.epoch = p_last_epoch
    left join epoch_committee c on c.chain = p_chain and c.epoch = p_last_epoch
$$;

-- The bounds of an attempt never change, and DEAD is permanent. DEAD requires that the attempt has expired, and
-- that the scanner found it neither in a block that still counts nor in a verified checkpoint.
create function payout_attempt_refuse_change() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    if new.state <> 'OPEN' or not exists (
      select from own_transaction t where t.chain = new.chain and t.tx_hash = new.tx_hash and t.wallet = new.wallet
        and t.order_pk = new.order_pk and t.nonce is null and (new.last_epoch is not null) = (t.family = 'SUI')
    ) then
      raise exception 'the attempt % does not belong to that payout', new.tx_hash using errcode = 'integrity_constraint_violation';
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
    raise exception 'the attempt % is % and cannot change', old.tx_hash, old.state using errcode = 'integrity_constraint_violation';
  end if;
  if new.state = 'DEAD' and not (old.state = 'OPEN'
    and attempt_is_over(new.chain, new.expires_ms, new.last_epoch)
    and not exists (
      select from own_transaction_fate f
      where f.chain = new.chain and f.tx_hash = new.tx_hash and f.state in ('MINED', 'VERIFIED'))
    and not exists (select from own_transaction_landed l where l.chain = new.chain and l.tx_hash = new.tx_hash))
  then
    raise exception 'the attempt % may still land or has landed', old.tx_hash using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger payout_attempt_kept before insert or update on payout_attempt for each row
  execute function payout_attempt_refuse_change();

-- True when every transaction ever signed for a payout is proven dead.
create function payout_is_unpaid(p_order_pk uuid) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
  select exists (select from payout_attempt a where a.order_pk = p_order_pk)
    and not exists (
      select from own_transaction t left join payout_attempt a using (chain, tx_hash)
        left join own_transaction_fate f using (chain, tx_hash)
      where t.order_pk = p_order_pk and (a.state is distinct from 'DEAD' or f.state in ('MINED', 'VERIFIED')))
$$;

-- A SIGNED payout returns to AUTHORISED when all its transactions are dead. A broadcast attempt is kept
-- permanently.
create function payout_refuse_change() returns trigger
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
create trigger payout_kept before update on payout for each row
  when (old.state <> new.state or old.first_sent_at is distinct from new.first_sent_at) execute function payout_refuse_change();

-- A nonce that was used in a signature belongs to that payout or cancel permanently, because nodes may have the
-- bytes. FINAL reopens after a reorganisation deeper than the crediting depth. If a foreign transaction turns out
-- to be a payment of this gateway that was lost in a restore, its nonce gets the order it is attached to. Only the
-- owner records that.
create function wallet_nonce_refuse_change() returns trigger
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
    raise exception 'nonce % of % on % is % and keeps its owner', old.nonce, old.wallet, old.chain, old.state
      using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger wallet_nonce_kept before update on wallet_nonce for each row
  when (old.state <> 'RESERVED' or new.state = 'FINAL') execute function wallet_nonce_refuse_change();

-- A signed payout whose nonce another transaction used may still have been paid, by a transaction that was lost in
-- a restore. It gets another nonce only after an operator's decision about each nonce it lost.
create function wallet_nonce_refuse_again() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if exists (
    select from wallet_nonce t where t.order_pk = new.order_pk and t.state = 'TAKEN' and not exists (
      select from payout_decision d where d.order_pk = t.order_pk and d.nonce = t.nonce and d.decision = 'PAY_AGAIN'
        and d.outcome is distinct from 'NOT_POSSIBLE')
  ) then
    raise exception 'payout % lost a nonce, and no operator decided that it is paid again', new.order_pk
      using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger wallet_nonce_inserted_again before insert on wallet_nonce for each row
  when (new.state = 'SIGNED' and new.order_pk is not null) execute function wallet_nonce_refuse_again();
create trigger wallet_nonce_signed_again before update on wallet_nonce for each row
  when (old.state = 'RESERVED' and new.state = 'SIGNED' and new.order_pk is not null) execute function wallet_nonce_refuse_again();

create function payout_decision_refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'the decision % was already carried out', old.decision_id using errcode = 'integrity_constraint_violation';
end $$;
create trigger payout_decision_kept before update on payout_decision for each row
  when (old.handled_at is not null) execute function payout_decision_refuse_change();

create function payout_decision_names_attempt() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if new.decision <> 'PAY_AGAIN' or not exists (
    select from payout_attempt a where a.order_pk = new.order_pk and a.tx_hash = new.unproven_tx_hash and a.state = 'OPEN'
      and a.last_epoch is not null and attempt_is_over(a.chain, a.expires_ms, a.last_epoch)
  ) then
    raise exception '% is not an open attempt that has expired', new.unproven_tx_hash using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger payout_decision_of_attempt before insert or update of unproven_tx_hash on payout_decision for each row
  when (new.unproven_tx_hash is not null) execute function payout_decision_names_attempt();

-- A wallet with transactions that its database lacks is an incident. It opens and closes with its halt, the only
-- row that the signer writes about it.
create function halt_is_incident() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    insert into incident (incident_id, kind, chain, details, opened_at)
      values (new.halt_id, new.kind, new.chain, jsonb_build_object('wallet', new.wallet, 'reason', new.reason), new.set_at);
  else
    update incident set closed_at = new.released_at, closed_by = new.released_by, closed_reason = new.released_reason
      where incident_id = new.halt_id and closed_at is null;
  end if;
  return null;
end $$;
create trigger wallet_halt_is_incident after insert on wallet_halt for each row
  when (new.kind in ('FOREIGN_NONCE', 'RESTORED')) execute function halt_is_incident();
create trigger wallet_halt_ends_incident after update of released_at on wallet_halt for each row
  when (new.kind in ('FOREIGN_NONCE', 'RESTORED') and old.released_at is null and new.released_at is not null)
  execute function halt_is_incident();

-- An address is either a hot wallet or a deposit address. The insert of a hot wallet locks out inserts of deposit
-- addresses until its transaction ends, and then checks. So of two transactions that insert the same address, the
-- later one sees the row of the earlier one. Read committed is required, because an older snapshot would hide that
-- row.
create function hot_wallet_is_no_deposit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'addresses are written at isolation level read committed' using errcode = 'integrity_constraint_violation';
  end if;
  lock table deposit_address in share row exclusive mode;
  if exists (select from deposit_address d where d.family = new.family and d.address = new.address) then
    raise exception '% is a deposit address of % and cannot be a hot wallet', new.address, new.family using errcode = 'integrity_constraint_violation';
  end if;
  return null;
end $$;
create trigger hot_wallet_no_deposit after insert or update of family, address on hot_wallet for each row
  execute function hot_wallet_is_no_deposit();

create function deposit_address_is_no_hot_wallet() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'addresses are written at isolation level read committed' using errcode = 'integrity_constraint_violation';
  end if;
  if exists (select from hot_wallet w where w.family = new.family and w.address = new.address) then
    raise exception '% is a hot wallet of % and cannot be a deposit address', new.address, new.family using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger deposit_address_no_hot_wallet before insert or update of family, address on deposit_address for each row
  execute function deposit_address_is_no_hot_wallet();

-- Expires unsigned payouts whose time is over by the database's clock. This function and the signer's step to SIGNED
-- change the same row from the state that they read, so only one succeeds. Rows are locked in key order. Two kinds do
-- not expire, because they may have been paid: payouts of a wallet with transactions that this database lacks, and
-- payouts whose next attempt needs an operator's decision. The signer's suspicion of missing transactions (CHAIN_AHEAD)
-- counts for two minutes: by then it has halted the wallet, or was wrong.
create function expire_payouts(p_order_pks uuid[]) returns setof uuid
language sql security definer set search_path = public, pg_temp as $$
  with due as (
    select order_pk from payout
    where order_pk = any(p_order_pks) and state in ('REQUESTED', 'AUTHORISED') and waiting_since is null
      and clock_timestamp() >= expires_at
      and not coalesce(obstacle = 'CHAIN_AHEAD' and obstacle_at > clock_timestamp() - interval '2 minutes', false)
      and not (state = 'AUTHORISED' and (obstacle is not distinct from 'NEEDS_DECISION' or attempt_is_decided(order_pk)))
      and not exists (select from wallet_halt h where h.chain = payout.chain and (h.wallet is null or h.wallet = payout.wallet)
        and h.kind in ('FOREIGN_NONCE', 'RESTORED') and h.released_at is null)
    order by order_pk for update
  )
  update payout p set state = 'EXPIRED', reason = 'Payout expired', version = p.version + 1, updated_at = clock_timestamp()
    from due where p.order_pk = due.order_pk returning p.order_pk
$$;
