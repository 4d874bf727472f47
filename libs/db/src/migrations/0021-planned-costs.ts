/**
 * What goes to cold storage stands with the cost that it was planned for, as sweeps do: the day's budget counts it from the moment it
 * begins, and no more is signed for it. Only added to: without a cost it is signed as before.
 */
export const name = '0021-planned-costs';

const COLUMN = `
alter table movement add column if not exists planned_cost numeric(78, 0) check (planned_cost >= 0);
comment on column movement.planned_cost is 'Of TO_COLD: the fee that it was planned for, in the native coin. Of a sweep see there.';`;

const BEGIN_MOVEMENT = `
-- Writes the payout of a movement, with its amount promised by the accounts that it names. p: orderPk, kind, merchantId, orderId,
-- chain, symbol, contract, decimals, displayDecimals, amount, wallet, receiver, seconds, sweepId, transferId, plannedBy; plannedCost of what goes to cold storage.
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
  insert into movement (order_pk, kind, sweep_id, transfer_id, source_kind, reserved_kind, sent_kind, target_kind, planned_by, planned_cost)
    values (v_order, p ->> 'kind', (p ->> 'sweepId')::uuid, (p ->> 'transferId')::bigint, p_source, p_reserved, p_sent, p_target,
      p ->> 'plannedBy', (p ->> 'plannedCost')::numeric);
  if p_source is not null then
    insert into ledger_transaction (ref, kind, order_pk) values ('reserve:' || v_order, 'RESERVE', v_order) returning ledger_tx_id into v_tx;
    insert into ledger_posting (ledger_tx_id, account_id, amount) values
      (v_tx, ledger_account_for(p_reserved, p ->> 'chain', p ->> 'symbol', case when p_reserved = 'HOT_RESERVED' then p ->> 'merchantId' end), v_amount),
      (v_tx, ledger_account_for(p_source, p ->> 'chain', p ->> 'symbol', null), -v_amount);
  end if;
  insert into payout (order_pk, chain, wallet, expires_at)
    select order_pk, chain, source_address, expires_at from orders where order_pk = v_order;
end $$;
revoke all on function begin_movement(jsonb, text, text, text, text) from public;`;

export const sql = [COLUMN, BEGIN_MOVEMENT];
