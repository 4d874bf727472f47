/** How the gateway's own movements begin: each function checks what may never be wrong, and reserves in the same transaction. */
export const MOVEMENTS = `
-- Writes the payout of a movement, with its amount promised by the accounts that it names. p: orderPk, kind, merchantId, orderId,
-- chain, symbol, contract, decimals, displayDecimals, amount, wallet, receiver, seconds, sweepId, transferId, plannedBy.
create or replace function begin_movement(p jsonb, p_source text, p_reserved text, p_sent text, p_target text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare v_family text; v_tx bigint; v_order uuid := (p ->> 'orderPk')::uuid; v_amount numeric := (p ->> 'amount')::numeric;
  v_seconds integer := (p ->> 'seconds')::integer;
begin
  select family into v_family from chain_family where chain = p ->> 'chain';
  if v_family is null then
    raise exception 'nobody reads the chain %', p ->> 'chain' using errcode = 'integrity_constraint_violation';
  elsif v_amount is null or v_amount <= 0 or v_amount <> trunc(v_amount) then
    raise exception 'a movement is a positive whole number of base units' using errcode = 'check_violation';
  elsif v_seconds is null or v_seconds not between 60 and 172800 then
    raise exception 'a movement ends within two days' using errcode = 'integrity_constraint_violation';
  end if;
  if p ->> 'merchantId' = '_gateway' then -- of what belongs to no shop's order; never enabled, so that nothing is asked in its name
    insert into merchant (merchant_id, name, version, token_sealed, webhook_secret_sealed, enabled)
      values ('_gateway', 'the gateway itself', 'V3', '', '', false) on conflict do nothing;
  end if;
  insert into orders (order_pk, merchant_id, order_id, order_type, chain, family, symbol, contract_address, decimals, display_decimals,
      amount, accepted_amount, address, source_address, created_at, expires_at)
    values (v_order, p ->> 'merchantId', p ->> 'orderId', 'PAYOUT', p ->> 'chain', v_family, p ->> 'symbol', p ->> 'contract',
      (p ->> 'decimals')::smallint, (p ->> 'displayDecimals')::smallint, v_amount, v_amount, p ->> 'receiver', p ->> 'wallet',
      clock_timestamp(), clock_timestamp() + v_seconds * interval '1 second');
  insert into movement (order_pk, kind, sweep_id, transfer_id, source_kind, reserved_kind, sent_kind, target_kind, planned_by)
    values (v_order, p ->> 'kind', (p ->> 'sweepId')::uuid, (p ->> 'transferId')::bigint, p_source, p_reserved, p_sent, p_target,
      p ->> 'plannedBy');
  if p_source is not null then
    insert into ledger_transaction (ref, kind, order_pk) values ('reserve:' || v_order, 'RESERVE', v_order) returning ledger_tx_id into v_tx;
    insert into ledger_posting (ledger_tx_id, account_id, amount) values
      (v_tx, ledger_account_for(p_reserved, p ->> 'chain', p ->> 'symbol', case when p_reserved = 'HOT_RESERVED' then p ->> 'merchantId' end), v_amount),
      (v_tx, ledger_account_for(p_source, p ->> 'chain', p ->> 'symbol', null), -v_amount);
  end if;
  insert into payout (order_pk, chain, wallet, expires_at)
    select order_pk, chain, source_address, expires_at from orders where order_pk = v_order;
end $$;
revoke all on function begin_movement(jsonb, text, text, text, text) from public;

-- Whether a payout may still move what was promised to it, or has: all but those that ended without.
create or replace function payout_may_move(p_order_pk uuid) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
  select exists (select from payout where order_pk = p_order_pk and money not in ('RELEASED', 'RETURNED')
    and not (state in ('REFUSED', 'EXPIRED') and first_sent_at is null))
$$;
revoke all on function payout_may_move(uuid) from public;

-- Begins a movement of an open sweep: SWEEP empties its address, GAS_TOP_UP sends coin for the fee there, DELEGATE lends it
-- energy and UNDELEGATE takes that back; or TO_COLD, what the hot wallet holds too much of. p: as begin_movement, but whose
-- merchant and order it is follows from the sweep. One of a kind and sweep at a time, so that no fee is brought twice.
-- @returns whether it began; false when the amount is not there (any more).
create or replace function plan_movement(p jsonb) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare s sweep; v_kind text := p ->> 'kind'; v_balance deposit_balance; v_amount numeric := (p ->> 'amount')::numeric; v_merchant text;
  v_hot numeric;
begin
  if v_kind = 'TO_COLD' then
    if not exists (select from hot_wallet w join chain_family f using (family) where f.chain = p ->> 'chain' and w.address = p ->> 'wallet') then
      raise exception '% is no hot wallet', p ->> 'wallet' using errcode = 'integrity_constraint_violation';
    end if;
    select balance into v_hot from ledger_account
      where account_id = ledger_account_for('HOT_AVAILABLE', p ->> 'chain', p ->> 'symbol', null) for update;
    if v_hot < v_amount then return false; end if;
    perform begin_movement(p || jsonb_build_object('merchantId', '_gateway', 'orderId', 'to-cold:' || (p ->> 'orderPk')),
      'HOT_AVAILABLE', 'HOT_RESERVED', 'IN_FLIGHT', 'COLD');
    return true;
  end if;
  select * into s from sweep where sweep_id = (p ->> 'sweepId')::uuid and state = 'OPEN' for update;
  if not found or s.chain is distinct from p ->> 'chain' then
    raise exception 'no sweep % is open', p ->> 'sweepId' using errcode = 'no_data_found';
  elsif exists (select from movement m where m.sweep_id = s.sweep_id and m.kind = v_kind and payout_may_move(m.order_pk)) then
    raise exception 'the sweep % has its % already', s.sweep_id, v_kind using errcode = 'unique_violation';
  end if;
  if v_kind = 'SWEEP' then
    if (p ->> 'wallet', p ->> 'receiver', p ->> 'symbol', v_amount) is distinct from (s.address, s.destination, s.symbol, s.amount) then
      raise exception 'that is not what the sweep % is for', s.sweep_id using errcode = 'integrity_constraint_violation';
    end if;
    select * into v_balance from deposit_balance where chain = s.chain and address = s.address and symbol = s.symbol for update;
    if not found or v_balance.received - v_balance.swept - v_balance.reserved < s.amount then return false; end if;
    select merchant_id into v_merchant from orders where order_pk = v_balance.order_pk;
    perform begin_movement(p || jsonb_build_object('merchantId', v_merchant, 'orderId', 'sweep:' || (p ->> 'orderPk')),
      'DEPOSIT', 'DEPOSIT_RESERVED', 'DEPOSIT_SENT', case s.destination_kind when 'HOT' then 'HOT_AVAILABLE' else 'COLD' end);
    update deposit_balance set reserved = reserved + s.amount, updated_at = now()
      where chain = s.chain and address = s.address and symbol = s.symbol;
    return true;
  end if;
  if p ->> 'receiver' is distinct from s.address or p ->> 'contract' is not null
    or not exists (select from hot_wallet w where w.family = s.family and w.address = p ->> 'wallet') then
    raise exception 'that helps no sweep of %', s.address using errcode = 'integrity_constraint_violation';
  end if;
  p := p || jsonb_build_object('merchantId', '_gateway', 'orderId', lower(replace(v_kind, '_', '-')) || ':' || (p ->> 'orderPk'));
  if v_kind = 'GAS_TOP_UP' then
    perform begin_movement(p, 'HOT_GAS', 'HOT_RESERVED', 'IN_FLIGHT', 'DEPOSIT_GAS');
  elsif v_kind in ('DELEGATE', 'UNDELEGATE') then
    perform begin_movement(p, null, null, null, null);
  else
    raise exception 'no movement is called %', v_kind using errcode = 'check_violation';
  end if;
  return true;
end $$;
revoke all on function plan_movement(jsonb) from public;

-- Gives an unmatched deposit back, or a part of it: a payout of its merchant's to an address that an operator says. p: as
-- begin_movement; what was given back before, or is on its way, counts. @returns whether the hot wallet has it.
create or replace function refund_deposit(p jsonb) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare u unmatched_deposit; t transfer; v_back numeric; v_hot numeric; v_amount numeric := (p ->> 'amount')::numeric; v_count integer;
begin
  select * into u from unmatched_deposit where transfer_id = (p ->> 'transferId')::bigint for update;
  if not found or u.withdrawn then
    raise exception 'no unmatched deposit % can be given back', p ->> 'transferId' using errcode = 'no_data_found';
  end if;
  select * into t from transfer where transfer_id = u.transfer_id;
  if t.state <> 'VERIFIED' or exists (select from transfer_settlement x where x.transfer_id = u.transfer_id and x.credited) then
    raise exception 'the deposit % is not verified, or was credited', u.transfer_id using errcode = 'integrity_constraint_violation';
  elsif (t.chain, t.symbol) is distinct from (p ->> 'chain', p ->> 'symbol') then
    raise exception 'the deposit % is of % on %', u.transfer_id, t.symbol, t.chain using errcode = 'integrity_constraint_violation';
  elsif not exists (select from hot_wallet w where w.family = t.family and w.address = p ->> 'wallet') then
    raise exception '% is no hot wallet', p ->> 'wallet' using errcode = 'integrity_constraint_violation';
  end if;
  select coalesce(sum(o.amount) filter (where payout_may_move(m.order_pk)), 0), count(*) into v_back, v_count
    from movement m join orders o using (order_pk) where m.transfer_id = u.transfer_id;
  if v_back + v_amount > t.amount then
    raise exception 'of the deposit % no more than % is left', u.transfer_id, t.amount - v_back using errcode = 'check_violation';
  end if;
  select balance into v_hot from ledger_account
    where account_id = ledger_account_for('HOT_AVAILABLE', t.chain, t.symbol, null) for update;
  if v_hot < v_amount then return false; end if;
  perform begin_movement(p || jsonb_build_object('kind', 'REFUND', 'merchantId', u.merchant_id,
      'orderId', 'refund:' || u.transfer_id || ':' || (v_count + 1)), 'HOT_AVAILABLE', 'HOT_RESERVED', 'IN_FLIGHT', 'REFUNDED');
  return true;
end $$;
revoke all on function refund_deposit(jsonb) from public;
`;
