-- Creation of an order with everything that belongs to it: one round trip, one transaction.

-- Columns that order creation writes, under their JSON names.
create view new_order with (security_invoker = true) as
  select order_pk as "orderPk", merchant_id as "merchantId", order_id as "orderId", order_type as "orderType", uid, chain, family, symbol,
    contract_address as "contractAddress", decimals, display_decimals as "displayDecimals", amount, accepted_amount as "acceptedAmount",
    address, source_address as "sourceAddress", confirmations_required as "confirmationsRequired",
    late_grace_seconds as "lateGraceSeconds", return_url as "returnUrl", description, signed_data_hash as "signedDataHash", traceparent,
    created_at as "createdAt", expires_at as "expiresAt"
  from orders;

create function read_new_order(p jsonb) returns new_order language plpgsql stable as $$
begin
  if p ->> 'amount' !~ '^[0-9]{1,78}$' or p ->> 'acceptedAmount' !~ '^[0-9]{1,78}$' then
    raise exception 'amounts are whole numbers of base units' using errcode = 'check_violation'; -- a cast would round them
  end if;
  return jsonb_populate_record(null::new_order, p || jsonb_build_object(
    'signedDataHash', '\x' || (p ->> 'signedDataHash'), 'lateGraceSeconds', coalesce((p ->> 'lateGraceSeconds')::integer, 0)));
end $$;

create function create_order_row(p jsonb) returns boolean language plpgsql as $$
begin
  insert into new_order select r.* from read_new_order(p) r on conflict do nothing;
  return found;
end $$;

create function spend_nonce(p_merchant_id text, p_nonce text, p_expires_at timestamptz) returns boolean language plpgsql as $$
begin
  insert into request_nonce (merchant_id, nonce, expires_at) values (p_merchant_id, p_nonce, p_expires_at) on conflict do nothing;
  return found;
end $$;

-- Creates collections, each with its nonce, address, first notification and events, in one transaction, or fails and
-- creates none. Outcomes, in the order of the items: NONCE_USED; CREATED; EXISTS with the order first created under this
-- id, which the caller compares. The first of two items with the same nonce or orderId wins. The caller sorts the items by
-- merchant and orderId, so that two calls with the same orders do not deadlock.
-- The statements are separate because the policy of notification must see the orders.
create function create_collections(p jsonb) returns table (outcome text, existing orders) language plpgsql as $$
declare v_spent bigint[]; v_created bigint[];
begin
  if exists (select from jsonb_array_elements(p) i where i -> 'order' ->> 'orderType' is distinct from 'COLLECTION') then
    raise exception 'not a collection' using errcode = 'check_violation';
  end if;
  with item as (
    select distinct on (1, 2) i -> 'order' ->> 'merchantId' as merchant_id, i ->> 'nonce' as nonce,
      (i ->> 'nonceExpiresAt')::timestamptz as expires_at, place
    from jsonb_array_elements(p) with ordinality as a (i, place) order by 1, 2, place
  ), spent as (
    insert into request_nonce (merchant_id, nonce, expires_at) select merchant_id, nonce, expires_at from item order by 1, 2
    on conflict do nothing returning merchant_id, nonce
  )
  select coalesce(array_agg(place), '{}') into v_spent from item join spent using (merchant_id, nonce);

  with created as (
    insert into new_order
      select r.* from jsonb_array_elements(p) with ordinality as a (i, place), read_new_order(i -> 'order') r
      where place = any(v_spent) order by place
    on conflict do nothing returning "orderPk"
  )
  select coalesce(array_agg(place), '{}') into v_created
    from jsonb_array_elements(p) with ordinality as a (i, place) join created on "orderPk" = (i -> 'order' ->> 'orderPk')::uuid;

  insert into deposit_address (family, address, derivation_index, order_pk)
    select i -> 'order' ->> 'family', i -> 'order' ->> 'address', (i ->> 'derivationIndex')::bigint, (i -> 'order' ->> 'orderPk')::uuid
    from jsonb_array_elements(p) with ordinality as a (i, place) where place = any(v_created);
  insert into notification (event_id, merchant_id, subject_id, sequence, notify_type, data, traceparent, occurred_at)
    select (i ->> 'notificationId')::uuid, i -> 'order' ->> 'merchantId', (i -> 'order' ->> 'orderPk')::uuid, 1, 'ORDER_PENDING',
      i ->> 'notificationData', i -> 'order' ->> 'traceparent', (i -> 'order' ->> 'createdAt')::timestamptz
    from jsonb_array_elements(p) with ordinality as a (i, place) where place = any(v_created);
  insert into api.outbox (event_id, routing_key, payload, traceparent)
    select (e ->> 'eventId')::uuid, e ->> 'routingKey', e ->> 'payload', i -> 'order' ->> 'traceparent'
    from jsonb_array_elements(p) with ordinality as a (i, place), jsonb_array_elements(i -> 'events') e
    where place = any(v_created) order by place;

  if cardinality(v_created) = jsonb_array_length(p) then
    return query select 'CREATED', null::orders from jsonb_array_elements(p);
    return;
  end if;
  if exists (
    select from jsonb_array_elements(p) with ordinality as a (i, place)
    where place = any(v_spent) and place <> all(v_created) and not exists (
      select from orders o where o.merchant_id = i -> 'order' ->> 'merchantId' and o.order_id = i -> 'order' ->> 'orderId')
  ) then
    raise exception 'an order was neither created nor found' using errcode = 'no_data_found';
  end if;
  return query
    select case when place = any(v_created) then 'CREATED' when place = any(v_spent) then 'EXISTS' else 'NONCE_USED' end, e
    from jsonb_array_elements(p) with ordinality as a (i, place)
    left join orders e on place = any(v_spent) and place <> all(v_created)
      and e.merchant_id = i -> 'order' ->> 'merchantId' and e.order_id = i -> 'order' ->> 'orderId'
    order by place;
end $$;

-- Outcomes: NONCE_USED; CREATED; EXISTS (same orderId); DUPLICATE (same signed data without orderId);
-- INSUFFICIENT. A rejected payout leaves only its used nonce.
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
    insert into notification (event_id, merchant_id, subject_id, sequence, notify_type, data, traceparent, occurred_at)
      values ((p ->> 'notificationId')::uuid, o ->> 'merchantId', (o ->> 'orderPk')::uuid, 1, 'ORDER_PENDING',
        p ->> 'notificationData', o ->> 'traceparent', (o ->> 'createdAt')::timestamptz);
    insert into api.outbox (event_id, routing_key, payload, traceparent)
      select (e2 ->> 'eventId')::uuid, e2 ->> 'routingKey', e2 ->> 'payload', o ->> 'traceparent' from jsonb_array_elements(p -> 'events') e2;
  exception when sqlstate 'OT001' then
    return query select 'INSUFFICIENT', null::orders; return;
  end;
  return query select 'CREATED', null::orders;
end $$;
