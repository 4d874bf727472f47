-- create_collections() of the baseline, with less processor time per order.

-- Creates collections, each with its nonce, address, first notification and events, in one transaction, or fails and
-- creates none. Outcomes, in the order of the items: NONCE_USED; CREATED; EXISTS with the order first created under this
-- id, which the caller compares. The first of two items with the same nonce or orderId wins. The caller sorts the items by
-- merchant and orderId, so that two calls with the same orders do not deadlock.
-- The statements are separate because the policy of notification must see the orders.
-- Processor time per order counts here: no plpgsql function runs per row, and no statement is planned per call. Without
-- force_generic_plan Postgres plans the insert of events each time, because it expects fewer rows from a known array.
create or replace function create_collections(p jsonb) returns table (outcome text, existing orders) language plpgsql
set plan_cache_mode = force_generic_plan as $$
declare v_spent bigint[]; v_created bigint[]; v_default new_order;
begin
  v_default."lateGraceSeconds" := 0;
  if exists (select from jsonb_array_elements(p) i
    where i -> 'order' ->> 'orderType' is distinct from 'COLLECTION' or i -> 'order' ->> 'signedDataHash' is not null) then
    raise exception 'not a collection' using errcode = 'check_violation';
  elsif exists (select from jsonb_array_elements(p) i
    where i -> 'order' ->> 'amount' !~ '^[0-9]{1,78}$' or i -> 'order' ->> 'acceptedAmount' !~ '^[0-9]{1,78}$') then
    raise exception 'amounts are whole numbers of base units' using errcode = 'check_violation'; -- a cast would round them
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
      select r.* from jsonb_array_elements(p) with ordinality as a (i, place), jsonb_populate_record(v_default, i -> 'order') r
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
