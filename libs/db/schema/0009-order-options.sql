-- Orders that the customer may pay in one of several coins (docs/architecture/prices.md).

-- The view first, then its table, as a creation of orders locks them: the other order deadlocks with each creation.
lock table new_order in access exclusive mode;

alter table orders add column if not exists choices smallint check (choices >= 0);
alter table orders alter column address drop not null;
alter table collection_height_sum add column if not exists place smallint not null default 0;

create table if not exists order_option ( -- writer: api at creation; choose_option() sets chosen_at
  order_pk uuid not null references orders,
  place smallint not null check (place >= 0),
  chain text not null,
  family text not null check (family in ('EVM', 'TRON', 'SUI')),
  symbol text not null,
  contract_address text,
  decimals smallint not null check (decimals between 0 and 36),
  display_decimals smallint not null,
  amount numeric(78, 0) not null check (amount > 0),
  confirmations_required integer check (confirmations_required > 0),
  currency text not null,
  rate text not null,
  rate_id uuid not null,
  chosen_at timestamptz,
  primary key (order_pk, place),
  unique (order_pk, chain, symbol),
  unique nulls not distinct (order_pk, chain, contract_address),
  foreign key (rate_id, currency, rate) references rate (rate_id, currency, rate)
);
comment on table order_option is 'The coins that an order accepts, with the amount that pays it in each. The set, amounts and rates never change.';
comment on column order_option.place is 'Position in the list, from 0.';
comment on column order_option.chosen_at is 'The customer saw the address for this coin from then on.';
-- Options come in the transaction that creates their order, so that none with another amount is added later.
alter table order_option enable row level security;
drop policy if exists all_read on order_option;
create policy all_read on order_option for select using (true);
drop policy if exists api_inserts_with_order on order_option;
create policy api_inserts_with_order on order_option for insert to opentill_api with check (
  exists (select from orders o where o.order_pk = order_option.order_pk and o.xmin = pg_current_xact_id()::xid));
create index if not exists order_option_rate_id on order_option (rate_id); -- for the deletion of rates
create index if not exists order_option_chosen on order_option (chain, order_pk) where chosen_at is not null; -- for is_chain_awaited

comment on column orders.choices is 'Null: an order of one coin. Else it has rows in order_option, and this is the number of those chosen. Its columns of coin, amount, rate and address are those of the current choice; before the first choice those of place 0, without an address.';
comment on column orders.accepted_amount is 'Amount required for SUCCESS: amount less the tolerance of the merchant. With options, like detected_amount and actual_amount, in shares of the order (order_worth).';
comment on table collection_sum is 'Base units of the transfers that a collection asks for (chain, token, address) and that are not orphaned; with options in shares of the order (order_worth). Kept while the order is neither SUCCESS nor FAILED. No row: no transfers.';
comment on column collection_height_sum.place is 'The option whose coin was paid. 0 for an order of one coin.';

-- Worth of an amount of a coin for its order: base units for an order of one coin, where p_whole is null. With options:
-- shares, of which 10^40 are the whole order, where p_whole is the amount that pays the order in this coin. Rounded up, in
-- favour of the payer, so that the sum of parts that cover the order covers it here. At most 10^60, so that no amount of a
-- worthless token exceeds the columns. libs/domain/src/order-shares.ts is the same rule.
create or replace function order_worth(p_amount numeric, p_whole numeric) returns numeric language sql immutable parallel safe as $$
  select case when p_whole is null then p_amount else least(div(p_amount * 1e40 + p_whole - 1, p_whole), 1e60) end
$$;

do $$ begin
  if not exists (select from pg_constraint where conname = 'orders_options') then
    alter table orders add constraint orders_options check (
      accepted_amount > 0 and case when choices is null then accepted_amount <= amount and address is not null
        else order_type = 'COLLECTION' and price is not null and (address is null) = (choices = 0) end) not valid;
    alter table orders drop constraint orders_check; -- without options
  end if;
end $$;

create or replace view new_order with (security_invoker = true) as
  select order_pk as "orderPk", merchant_id as "merchantId", order_id as "orderId", order_type as "orderType", uid, chain, family, symbol,
    contract_address as "contractAddress", decimals, display_decimals as "displayDecimals", amount, accepted_amount as "acceptedAmount",
    address, source_address as "sourceAddress", confirmations_required as "confirmationsRequired",
    late_grace_seconds as "lateGraceSeconds", return_url as "returnUrl", description, signed_data_hash as "signedDataHash", traceparent,
    created_at as "createdAt", expires_at as "expiresAt", currency, price, rate, rate_id as "rateId", markup_bps as "markupBps", choices
  from orders;

-- Creates collections, each with its nonce, address, first notification and events, in one transaction, or fails and
-- creates none. Outcomes, in the order of the items: NONCE_USED; CREATED; EXISTS with the order first created under this
-- id, which the caller compares. The first of two items with the same nonce or orderId wins. The caller sorts the items by
-- merchant and orderId, so that two calls with the same orders do not deadlock.
-- The statements are separate because the policy of notification must see the orders.
-- To save processor time per order, no plpgsql function runs per row, and no statement is planned per call. Without
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
    from jsonb_array_elements(p) with ordinality as a (i, place)
    where place = any(v_created) and i -> 'order' -> 'address' <> 'null'; -- with options, the choice brings the address
  if p @? '$[*].options[*]' then
    insert into order_option (order_pk, place, chain, family, symbol, contract_address, decimals, display_decimals, amount,
        confirmations_required, currency, rate, rate_id)
      select (i -> 'order' ->> 'orderPk')::uuid, n - 1, x ->> 'chain', x ->> 'family', x ->> 'symbol', x ->> 'contractAddress',
        (x ->> 'decimals')::smallint, (x ->> 'displayDecimals')::smallint, (x ->> 'amount')::numeric,
        (x ->> 'confirmationsRequired')::integer, i -> 'order' ->> 'currency', x ->> 'rate', (x ->> 'rateId')::uuid
      from jsonb_array_elements(p) with ordinality as a (i, place), jsonb_array_elements(i -> 'options') with ordinality as b (x, n)
      where place = any(v_created);
  end if;
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

-- The customer chooses a coin of an order with options, or another one. Locks the order, as settling does: a choice comes
-- before or after a payment and the expiry. An order has one address per family, which it keeps: p_address and its index
-- are used for the first choice of a family only. Outcomes: CHOSEN, also when the coin is chosen already; CLOSED: covered, ended
-- or past its expiry; NOT_OFFERED; NEEDS_ADDRESS: p_address is null.
create or replace function choose_option(p_order_pk uuid, p_chain text, p_symbol text, p_address text, p_derivation_index bigint) returns text
language plpgsql security definer set search_path = public, pg_temp as $$
declare o orders; x order_option; v_address text;
begin
  select * into o from orders where order_pk = p_order_pk and choices is not null for no key update;
  select * into x from order_option where order_pk = o.order_pk and chain = p_chain and symbol = p_symbol;
  if not found then return 'NOT_OFFERED'; end if;
  if o.choices > 0 and (o.chain, o.symbol) = (x.chain, x.symbol) then return 'CHOSEN'; end if;
  if o.status not in ('INIT', 'PENDING') or clock_timestamp() >= o.expires_at then return 'CLOSED'; end if;
  select address into v_address from deposit_address where order_pk = o.order_pk and family = x.family;
  if not found then
    if p_address is null then return 'NEEDS_ADDRESS'; end if;
    v_address := p_address;
    insert into deposit_address (family, address, derivation_index, order_pk) values (x.family, p_address, p_derivation_index, o.order_pk);
  end if;
  update order_option set chosen_at = clock_timestamp() where order_pk = o.order_pk and place = x.place and chosen_at is null;
  update orders set chain = x.chain, family = x.family, symbol = x.symbol, contract_address = x.contract_address, decimals = x.decimals,
      display_decimals = x.display_decimals, amount = x.amount, confirmations_required = x.confirmations_required, rate = x.rate,
      rate_id = x.rate_id, address = v_address, choices = o.choices + (case when x.chosen_at is null then 1 else 0 end),
      updated_at = clock_timestamp()
    where order_pk = o.order_pk;
  return 'CHOSEN';
end $$;

-- True while a scanner must follow the chain closely: an order, a payout or one of the gateway's transactions is open, a
-- payment waits for its depth, or blocks are to be read again. Payouts that wait for approval are not due. Scanners ask at
-- each poll, so every condition is that of a partial index; without sequential scans, old statistics cannot make it slow.
create or replace function is_chain_awaited(p_chain text) returns boolean
language plpgsql stable security definer set search_path = public, pg_temp set enable_seqscan = off as $$
begin
  return exists (select from orders o where o.chain = p_chain and o.order_type = 'COLLECTION' and o.status in ('INIT', 'PENDING')
      and o.address is not null)
    or exists (select from orders o where o.chain = p_chain and o.order_type = 'COLLECTION' and o.status = 'PENDING_CONFIRMATION')
    -- Earlier choices of an order with options count, too. The lateral keeps ended orders from being read.
    or exists (select from orders o cross join lateral (
        select from order_option x where x.order_pk = o.order_pk and x.chain = p_chain and x.chosen_at is not null limit 1) x
      where o.choices > 1 and o.order_type = 'COLLECTION' and o.status in ('INIT', 'PENDING', 'PENDING_CONFIRMATION'))
    or exists (select from transfer t where t.chain = p_chain and t.state = 'DETECTED'
      and t.block_height > (select c.verified_height from chain_cursor c where c.chain = p_chain))
    or exists (select from payout p where p.chain = p_chain and p.state = 'REQUESTED' and p.obstacle is null)
    or exists (select from payout p where p.chain = p_chain and p.state = 'REQUESTED' and p.obstacle is not null
      and (p.obstacle <> 'NEEDS_APPROVAL' or p.obstacle_at is null))
    or exists (select from payout p where p.chain = p_chain and p.state = 'AUTHORISED')
    or exists (select from wallet_nonce n where n.chain = p_chain and n.state = 'SIGNED')
    or exists (select from payout_attempt a where a.chain = p_chain and a.state = 'OPEN')
    or exists (select from own_transaction_fate f where f.chain = p_chain and f.state = 'MINED')
    or exists (select from rescan_request r where r.chain = p_chain and r.done_at is null);
end $$;

-- A settlement names the order that a transfer is booked for, and an order has one deposit address per family. So a reversal
-- is taken from the address where it was booked, even if the transfer has moved since. The age of reserved money
-- is kept.
create or replace function deposit_balance_add(p_order_pk uuid, p_chain text, p_symbol text, p_contract text, p_amount numeric) returns void
language sql security definer set search_path = public, pg_temp as $$
  insert into deposit_balance as b (chain, address, symbol, family, contract_address, order_pk, received)
    select p_chain, d.address, p_symbol, d.family, p_contract, d.order_pk, p_amount
    from deposit_address d join chain_family f on f.chain = p_chain and f.family = d.family where d.order_pk = p_order_pk
    on conflict (chain, address, symbol) do update set received = b.received + excluded.received, updated_at = now(),
      held_since = case when b.received > b.swept + b.reserved then b.held_since when b.reserved > 0 then least(b.held_since, b.since) end,
      since = case when b.received <= b.swept + b.reserved then now() else b.since end
$$;

grant insert (choices) on orders to opentill_api;
grant select on order_option to opentill_api, opentill_tracker, opentill_ops;
grant insert (order_pk, place, chain, family, symbol, contract_address, decimals, display_decimals, amount, confirmations_required,
  currency, rate, rate_id) on order_option to opentill_api;
grant select (rate_id) on order_option to opentill_rates;
grant execute on function choose_option(uuid, text, text, text, bigint) to opentill_api;

-- step
alter table orders validate constraint orders_options;

-- step
do $$ begin
  if exists (select from pg_index where indexrelid = to_regclass('public.deposit_address_order_family') and not indisvalid) then
    drop index public.deposit_address_order_family;
  end if;
  if exists (select from pg_index where indexrelid = to_regclass('public.collection_height_sum_place') and not indisvalid) then
    drop index public.collection_height_sum_place;
  end if;
  if exists (select from pg_index where indexrelid = to_regclass('public.orders_with_options') and not indisvalid) then
    drop index public.orders_with_options;
  end if;
  if exists (select from pg_index where indexrelid = to_regclass('public.orders_open_addressed') and not indisvalid) then
    drop index public.orders_open_addressed;
  end if;
end $$;

-- step
create unique index concurrently if not exists deposit_address_order_family on deposit_address (order_pk, family);

-- step
create unique index concurrently if not exists collection_height_sum_place on collection_height_sum (order_pk, place, block_height);

-- step
-- For due orders and is_chain_awaited. Orders of one coin have no entry.
create index concurrently if not exists orders_with_options on orders (status, choices, cutoff_at)
  where choices is not null and order_type = 'COLLECTION' and status in ('INIT', 'PENDING', 'PENDING_CONFIRMATION');

-- step
-- For the same, without orders before the choice of their coin. orders_open_cutoff stays for the services before this version.
create index concurrently if not exists orders_open_addressed on orders (chain, cutoff_at)
  where order_type = 'COLLECTION' and status in ('INIT', 'PENDING') and address is not null;

-- step
-- An order has one address per family, and sums of blocks are kept by coin.
alter table deposit_address drop constraint if exists deposit_address_order_pk_key;
alter table collection_height_sum drop constraint if exists collection_height_sum_pkey;
alter table collection_height_sum add constraint collection_height_sum_pkey primary key using index collection_height_sum_place;

create or replace function recount_collection(p_order_pk uuid) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into collection_sum (order_pk) values (p_order_pk) on conflict do nothing;
  perform from collection_sum where order_pk = p_order_pk for update;
  update collection_sum s set (in_time, verified_in_time, verified_late) = (
    select coalesce(sum(order_worth(t.amount, x.amount)) filter (where t.first_block_time <= date_trunc('second', o.cutoff_at)), 0),
      coalesce(sum(order_worth(t.amount, x.amount)) filter (where t.first_block_time <= date_trunc('second', o.cutoff_at)
        and t.state = 'VERIFIED'), 0),
      coalesce(sum(order_worth(t.amount, x.amount)) filter (where not t.first_block_time <= date_trunc('second', o.cutoff_at)
        and t.state = 'VERIFIED'), 0)
    from orders o join deposit_address d on d.order_pk = o.order_pk join transfer t on t.family = d.family and t.to_address = d.address
      left join order_option x on o.choices is not null and x.order_pk = o.order_pk and x.chain = t.chain
        and x.contract_address is not distinct from t.contract_address
    where o.order_pk = p_order_pk and t.state <> 'ORPHANED' and (x.order_pk is not null
      or (o.choices is null and o.chain = t.chain and o.contract_address is not distinct from t.contract_address))
  ) where s.order_pk = p_order_pk;
  delete from collection_height_sum where order_pk = p_order_pk;
  insert into collection_height_sum (order_pk, place, block_height, verified_in_time)
    select o.order_pk, coalesce(x.place, 0), t.block_height, sum(order_worth(t.amount, x.amount))
    from orders o join deposit_address d on d.order_pk = o.order_pk join transfer t on t.family = d.family and t.to_address = d.address
      left join order_option x on o.choices is not null and x.order_pk = o.order_pk and x.chain = t.chain
        and x.contract_address is not distinct from t.contract_address
    where o.order_pk = p_order_pk and t.state = 'VERIFIED' and t.first_block_time <= date_trunc('second', o.cutoff_at) and (x.order_pk is not null
      or (o.choices is null and o.chain = t.chain and o.contract_address is not distinct from t.contract_address))
      and (case when x.order_pk is null then o.confirmations_required else x.confirmations_required end) is not null
    group by 1, 2, 3;
  delete from collection_away where order_pk = p_order_pk;
    with touched as (
      select d.order_pk, t.tx_hash from deposit_address d join transfer t on t.family = d.family and t.to_address = d.address
      where d.order_pk = p_order_pk and t.state = 'ORPHANED'
    ), judged as (
      select g.order_pk, g.tx_hash,
        bool_or(t.state = 'ORPHANED' and t.first_block_time <= date_trunc('second', o.cutoff_at)) and not bool_or(t.state <> 'ORPHANED') as away
      from (select distinct order_pk, tx_hash from touched) g join orders o using (order_pk)
        cross join lateral (
          select o.family, o.chain, o.contract_address where o.choices is null
          union all select x.family, x.chain, x.contract_address from order_option x where o.choices is not null and x.order_pk = o.order_pk
        ) k
        left join transfer t on t.chain = k.chain and t.tx_hash = g.tx_hash and t.family = k.family
          and t.contract_address is not distinct from k.contract_address
          and exists (select from deposit_address d where d.family = t.family and d.address = t.to_address and d.order_pk = o.order_pk)
      where o.order_type = 'COLLECTION' and o.status not in ('SUCCESS', 'FAILED') group by g.order_pk, g.tx_hash
    ), back as (
      delete from collection_away a using judged j where a.tx_hash = j.tx_hash and a.order_pk = j.order_pk and j.away is not true
    )
    insert into collection_away (tx_hash, order_pk) select tx_hash, order_pk from judged where away on conflict do nothing;
end $$;

create or replace function collection_sum_inserted() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  with share as materialized (
    select o.order_pk, coalesce(x.place, 0) as place, t.sign * order_worth(t.amount, x.amount) as amount, t.block_height,
      t.state = 'VERIFIED' as verified, t.first_block_time <= date_trunc('second', o.cutoff_at) as in_time,
      (case when x.order_pk is null then o.confirmations_required else x.confirmations_required end) is not null as by_depth
    from (select n.*, 1 as sign from came n) t join deposit_address d on d.family = t.family and d.address = t.to_address
      join orders o on o.order_pk = d.order_pk and o.order_type = 'COLLECTION' and o.status not in ('SUCCESS', 'FAILED')
      left join order_option x on o.choices is not null and x.order_pk = o.order_pk and x.chain = t.chain
        and x.contract_address is not distinct from t.contract_address
    where t.state <> 'ORPHANED' and (x.order_pk is not null
      or (o.choices is null and o.chain = t.chain and o.contract_address is not distinct from t.contract_address))
  ), heights as (
    insert into collection_height_sum as h (order_pk, place, block_height, verified_in_time)
    select order_pk, place, block_height, sum(amount) from share where verified and in_time and by_depth
    group by order_pk, place, block_height having sum(amount) <> 0 order by order_pk, place, block_height
    on conflict (order_pk, place, block_height) do update set verified_in_time = h.verified_in_time + excluded.verified_in_time
  ), added as (
    select order_pk, coalesce(sum(amount) filter (where in_time), 0) as in_time,
      coalesce(sum(amount) filter (where in_time and verified), 0) as verified_in_time,
      coalesce(sum(amount) filter (where not in_time and verified), 0) as verified_late
    from share group by order_pk
  )
  insert into collection_sum as s (order_pk, in_time, verified_in_time, verified_late)
  select * from added where (in_time, verified_in_time, verified_late) <> (0, 0, 0) order by order_pk
  on conflict (order_pk) do update set in_time = s.in_time + excluded.in_time,
    verified_in_time = s.verified_in_time + excluded.verified_in_time, verified_late = s.verified_late + excluded.verified_late;
  if exists (select from came n where n.state = 'ORPHANED' or exists (select from collection_away a where a.tx_hash = n.tx_hash)) then
    with touched as (
      select d.order_pk, n.tx_hash from came n join deposit_address d on d.family = n.family and d.address = n.to_address
    ), judged as (
      select g.order_pk, g.tx_hash,
        bool_or(t.state = 'ORPHANED' and t.first_block_time <= date_trunc('second', o.cutoff_at)) and not bool_or(t.state <> 'ORPHANED') as away
      from (select distinct order_pk, tx_hash from touched) g join orders o using (order_pk)
        cross join lateral (
          select o.family, o.chain, o.contract_address where o.choices is null
          union all select x.family, x.chain, x.contract_address from order_option x where o.choices is not null and x.order_pk = o.order_pk
        ) k
        left join transfer t on t.chain = k.chain and t.tx_hash = g.tx_hash and t.family = k.family
          and t.contract_address is not distinct from k.contract_address
          and exists (select from deposit_address d where d.family = t.family and d.address = t.to_address and d.order_pk = o.order_pk)
      where o.order_type = 'COLLECTION' and o.status not in ('SUCCESS', 'FAILED') group by g.order_pk, g.tx_hash
    ), back as (
      delete from collection_away a using judged j where a.tx_hash = j.tx_hash and a.order_pk = j.order_pk and j.away is not true
    )
    insert into collection_away (tx_hash, order_pk) select tx_hash, order_pk from judged where away on conflict do nothing;
  end if;
  return null;
end $$;

create or replace function collection_sum_updated() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  with share as materialized (
    select o.order_pk, coalesce(x.place, 0) as place, t.sign * order_worth(t.amount, x.amount) as amount, t.block_height,
      t.state = 'VERIFIED' as verified, t.first_block_time <= date_trunc('second', o.cutoff_at) as in_time,
      (case when x.order_pk is null then o.confirmations_required else x.confirmations_required end) is not null as by_depth
    from (select n.*, 1 as sign from came n union all select g.*, -1 from gone g) t join deposit_address d on d.family = t.family and d.address = t.to_address
      join orders o on o.order_pk = d.order_pk and o.order_type = 'COLLECTION' and o.status not in ('SUCCESS', 'FAILED')
      left join order_option x on o.choices is not null and x.order_pk = o.order_pk and x.chain = t.chain
        and x.contract_address is not distinct from t.contract_address
    where t.state <> 'ORPHANED' and (x.order_pk is not null
      or (o.choices is null and o.chain = t.chain and o.contract_address is not distinct from t.contract_address))
  ), heights as (
    insert into collection_height_sum as h (order_pk, place, block_height, verified_in_time)
    select order_pk, place, block_height, sum(amount) from share where verified and in_time and by_depth
    group by order_pk, place, block_height having sum(amount) <> 0 order by order_pk, place, block_height
    on conflict (order_pk, place, block_height) do update set verified_in_time = h.verified_in_time + excluded.verified_in_time
  ), added as (
    select order_pk, coalesce(sum(amount) filter (where in_time), 0) as in_time,
      coalesce(sum(amount) filter (where in_time and verified), 0) as verified_in_time,
      coalesce(sum(amount) filter (where not in_time and verified), 0) as verified_late
    from share group by order_pk
  )
  insert into collection_sum as s (order_pk, in_time, verified_in_time, verified_late)
  select * from added where (in_time, verified_in_time, verified_late) <> (0, 0, 0) order by order_pk
  on conflict (order_pk) do update set in_time = s.in_time + excluded.in_time,
    verified_in_time = s.verified_in_time + excluded.verified_in_time, verified_late = s.verified_late + excluded.verified_late;
  if exists (
    select from came n join gone g using (transfer_id) where n.state = 'ORPHANED' or g.state = 'ORPHANED'
      or (n.to_address, n.contract_address, n.first_block_time) is distinct from (g.to_address, g.contract_address, g.first_block_time)
  ) then
    with touched as (
      select d.order_pk, t.tx_hash from (select * from came union all select * from gone) t
        join deposit_address d on d.family = t.family and d.address = t.to_address
    ), judged as (
      select g.order_pk, g.tx_hash,
        bool_or(t.state = 'ORPHANED' and t.first_block_time <= date_trunc('second', o.cutoff_at)) and not bool_or(t.state <> 'ORPHANED') as away
      from (select distinct order_pk, tx_hash from touched) g join orders o using (order_pk)
        cross join lateral (
          select o.family, o.chain, o.contract_address where o.choices is null
          union all select x.family, x.chain, x.contract_address from order_option x where o.choices is not null and x.order_pk = o.order_pk
        ) k
        left join transfer t on t.chain = k.chain and t.tx_hash = g.tx_hash and t.family = k.family
          and t.contract_address is not distinct from k.contract_address
          and exists (select from deposit_address d where d.family = t.family and d.address = t.to_address and d.order_pk = o.order_pk)
      where o.order_type = 'COLLECTION' and o.status not in ('SUCCESS', 'FAILED') group by g.order_pk, g.tx_hash
    ), back as (
      delete from collection_away a using judged j where a.tx_hash = j.tx_hash and a.order_pk = j.order_pk and j.away is not true
    )
    insert into collection_away (tx_hash, order_pk) select tx_hash, order_pk from judged where away on conflict do nothing;
  end if;
  insert into relocated_transfer (transfer_id, family, address)
    select n.transfer_id, a.family, a.address from came n join gone g using (transfer_id)
      cross join lateral (values (n.family, n.to_address), (g.family, g.to_address)) as a (family, address)
    where n.to_address <> g.to_address on conflict do nothing;
  return null;
end $$;
