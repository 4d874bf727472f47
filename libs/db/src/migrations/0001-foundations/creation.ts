/** Creation of an order with everything that belongs to it: one round trip, one transaction. */
export const CREATION = `
create function create_order_row(p jsonb) returns boolean language plpgsql as $$
begin
  if p ->> 'amount' !~ '^[0-9]{1,78}$' or p ->> 'acceptedAmount' !~ '^[0-9]{1,78}$' then
    raise exception 'amounts are whole numbers of base units' using errcode = 'check_violation'; -- a cast would round them
  end if;
  insert into orders (order_pk, merchant_id, order_id, order_type, uid, chain, family, symbol, contract_address, decimals,
      display_decimals, amount, accepted_amount, address, source_address, confirmations_required, late_grace_seconds,
      return_url, description, signed_data_hash, created_at, expires_at)
    select (p ->> 'orderPk')::uuid, p ->> 'merchantId', p ->> 'orderId', p ->> 'orderType', p ->> 'uid', p ->> 'chain', p ->> 'family',
      p ->> 'symbol', p ->> 'contractAddress', (p ->> 'decimals')::smallint, (p ->> 'displayDecimals')::smallint,
      (p ->> 'amount')::numeric, (p ->> 'acceptedAmount')::numeric, p ->> 'address', p ->> 'sourceAddress',
      (p ->> 'confirmationsRequired')::integer, coalesce((p ->> 'lateGraceSeconds')::integer, 0), p ->> 'returnUrl', p ->> 'description',
      decode(p ->> 'signedDataHash', 'hex'), (p ->> 'createdAt')::timestamptz, (p ->> 'expiresAt')::timestamptz
    on conflict do nothing;
  return found;
end $$;

create function spend_nonce(p_merchant_id text, p_nonce text, p_expires_at timestamptz) returns boolean language plpgsql as $$
begin
  insert into request_nonce (merchant_id, nonce, expires_at) values (p_merchant_id, p_nonce, p_expires_at) on conflict do nothing;
  return found;
end $$;

-- Outcomes: NONCE_USED; CREATED; EXISTS with the order first created under this id (the caller compares).
create function create_collection(p jsonb) returns table (outcome text, existing orders) language plpgsql as $$
declare o jsonb := p -> 'order'; e orders;
begin
  if o ->> 'orderType' is distinct from 'COLLECTION' then
    raise exception 'not a collection' using errcode = 'check_violation';
  end if;
  if not spend_nonce(o ->> 'merchantId', p ->> 'nonce', (p ->> 'nonceExpiresAt')::timestamptz) then
    return query select 'NONCE_USED', null::orders; return;
  end if;
  if not create_order_row(o) then
    select * into strict e from orders where merchant_id = o ->> 'merchantId' and order_id = o ->> 'orderId';
    return query select 'EXISTS', e; return;
  end if;
  insert into deposit_address (family, address, derivation_index, order_pk)
    values (o ->> 'family', o ->> 'address', (p ->> 'derivationIndex')::bigint, (o ->> 'orderPk')::uuid);
  insert into notification (event_id, merchant_id, subject_id, sequence, notify_type, data, occurred_at)
    values ((p ->> 'notificationId')::uuid, o ->> 'merchantId', (o ->> 'orderPk')::uuid, 1, 'ORDER_PENDING',
      p ->> 'notificationData', (o ->> 'createdAt')::timestamptz);
  insert into api.outbox (event_id, routing_key, payload)
    select (e2 ->> 'eventId')::uuid, e2 ->> 'routingKey', e2 ->> 'payload' from jsonb_array_elements(p -> 'events') e2;
  return query select 'CREATED', null::orders;
end $$;

-- Several collections in one transaction, answered in their order: all of them, or an error and none. The caller brings
-- them in one order (by merchant and orderId), so that two calls with the same orders can't wait for one another.
create function create_collections(p jsonb) returns table (outcome text, existing orders) language plpgsql as $$
declare item jsonb;
begin
  for item in select value from jsonb_array_elements(p) with ordinality order by ordinality loop
    return query select c.outcome, c.existing from create_collection(item) c;
  end loop;
end $$;

-- Outcomes: NONCE_USED; CREATED; EXISTS (same orderId); DUPLICATE (same signed data without orderId); INSUFFICIENT.
-- A refused payout leaves nothing but its spent nonce.
create function create_payout(p jsonb) returns table (outcome text, existing orders) language plpgsql as $$
declare o jsonb := p -> 'order'; e orders;
begin
  if o ->> 'orderType' is distinct from 'PAYOUT' then
    raise exception 'not a payout' using errcode = 'check_violation';
  end if;
  if not spend_nonce(o ->> 'merchantId', p ->> 'nonce', (p ->> 'nonceExpiresAt')::timestamptz) then
    return query select 'NONCE_USED', null::orders; return;
  end if;
  begin
    if not create_order_row(o) then
      select * into e from orders where merchant_id = o ->> 'merchantId' and signed_data_hash = decode(o ->> 'signedDataHash', 'hex');
      if found then return query select 'DUPLICATE', e; return; end if;
      select * into strict e from orders where merchant_id = o ->> 'merchantId' and order_id = o ->> 'orderId';
      return query select 'EXISTS', e; return;
    end if;
    if not reserve((o ->> 'orderPk')::uuid) then
      raise exception using errcode = 'OT001', message = 'insufficient balance';
    end if;
    insert into notification (event_id, merchant_id, subject_id, sequence, notify_type, data, occurred_at)
      values ((p ->> 'notificationId')::uuid, o ->> 'merchantId', (o ->> 'orderPk')::uuid, 1, 'ORDER_PENDING',
        p ->> 'notificationData', (o ->> 'createdAt')::timestamptz);
    insert into api.outbox (event_id, routing_key, payload)
      select (e2 ->> 'eventId')::uuid, e2 ->> 'routingKey', e2 ->> 'payload' from jsonb_array_elements(p -> 'events') e2;
  exception when sqlstate 'OT001' then
    return query select 'INSUFFICIENT', null::orders; return;
  end;
  return query select 'CREATED', null::orders;
end $$;
`;
