-- Links that may be paid many times. Each payment is a collection that names its link.

-- The view first, then its table, as a creation of orders locks them: the other order deadlocks with each creation.
lock table new_order in access exclusive mode;

create table if not exists payment_link ( -- writer: api
  merchant_id text not null references merchant,
  link_id text not null check (link_id ~ '^[A-Za-z0-9_.:~@-]{1,64}$'),
  link_code text not null unique check (link_code ~ '^[A-Za-z0-9_-]{22}$'),
  uid text,
  chain text not null,
  symbol text not null,
  currency text check (currency ~ '^[A-Z]{3}$'),
  amount text,
  min_amount text,
  max_amount text,
  description text check (length(description) <= 120),
  return_url text check (length(return_url) <= 2048),
  stock integer check (stock between 1 and 10000),
  expires_at timestamptz,
  closed_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (merchant_id, link_id),
  check (num_nulls(min_amount, max_amount) in (0, 2) and (amount is null) = (min_amount is not null))
);
comment on column payment_link.link_code is 'In the public address of the link: random, so that it cannot be guessed.';
comment on column payment_link.uid is 'The uid of its orders.';
comment on column payment_link.amount is 'Decimal text, as the next two: in units of the coin, or of the currency if there is one. Null: the payer chooses between the next two.';
comment on column payment_link.stock is 'Most orders that are open or paid. Null: unlimited.';
create index if not exists payment_link_created on payment_link (merchant_id, created_at, link_id);

alter table orders add column if not exists link_id text;
comment on column orders.link_id is 'The payment link that opened it. Null for an order of createCollection.';
do $$ begin
  if not exists (select from pg_constraint where conname = 'orders_link') then
    alter table orders add constraint orders_link foreign key (merchant_id, link_id) references payment_link not valid;
  end if;
end $$;

create or replace view new_order with (security_invoker = true) as
  select order_pk as "orderPk", merchant_id as "merchantId", order_id as "orderId", order_type as "orderType", uid, chain, family, symbol,
    contract_address as "contractAddress", decimals, display_decimals as "displayDecimals", amount, accepted_amount as "acceptedAmount",
    address, source_address as "sourceAddress", confirmations_required as "confirmationsRequired",
    late_grace_seconds as "lateGraceSeconds", return_url as "returnUrl", description, signed_data_hash as "signedDataHash", traceparent,
    created_at as "createdAt", expires_at as "expiresAt", currency, price, rate, rate_id as "rateId", markup_bps as "markupBps", choices,
    link_id as "linkId"
  from orders;

-- Creates the collection of one item, as create_collections does, if its link takes orders. Further outcomes: LINK_ENDED;
-- SOLD_OUT. An order that exists already is EXISTS, also after its link has ended. The lock serialises the creations of a link
-- and their count. Meanwhile the tracker may release a piece, or take one for a payment that it found late: `sold` may then
-- exceed the stock.
create or replace function open_link_order(p jsonb) returns table (outcome text, existing orders) language plpgsql as $$
declare o jsonb := p -> 'order'; l payment_link;
begin
  select * into strict l from payment_link where merchant_id = o ->> 'merchantId' and link_id = o ->> 'linkId' for no key update;
  if not exists (select from orders where merchant_id = l.merchant_id and order_id = o ->> 'orderId') then
    if l.closed_at is not null or l.expires_at <= clock_timestamp() then
      return query select 'LINK_ENDED', null::orders; return;
    end if;
    if l.stock is not null and l.stock <= (select count(*) from (
        select from orders where merchant_id = l.merchant_id and link_id = l.link_id
          and status in ('INIT', 'PENDING', 'PENDING_CONFIRMATION', 'SUCCESS') limit l.stock) taken) then
      return query select 'SOLD_OUT', null::orders; return;
    end if;
  end if;
  return query select * from create_collections(jsonb_build_array(p));
end $$;

grant select, insert, update (closed_at) on payment_link to opentill_api;
grant select on payment_link to opentill_ops;
grant insert (link_id) on orders to opentill_api;
grant execute on function open_link_order(jsonb) to opentill_api;

-- step
alter table orders validate constraint orders_link;

-- step
do $$ begin
  if exists (select from pg_index where indexrelid = to_regclass('public.orders_by_link') and not indisvalid) then
    drop index public.orders_by_link;
  end if;
end $$;

-- step
-- For the pieces that a link has sold and reserved. Orders without a link have no entry.
create index concurrently if not exists orders_by_link on orders (merchant_id, link_id, status) where link_id is not null;
