-- Prices of orders in a currency, and the rates that gave their amounts.

alter table orders
  add column if not exists currency text,
  add column if not exists price text,
  add column if not exists rate text,
  add column if not exists rate_id uuid,
  add column if not exists markup_bps integer;
comment on column orders.currency is 'ISO 4217. Null for an order with an amount, as are the next four.';
comment on column orders.price is 'Decimal text with the minor units of the currency.';
comment on column orders.rate is 'Price of one coin in the currency, before the markup; that of the row rate_id.';
comment on column orders.markup_bps is 'Added to the amount, in hundredths of a percent: the setting of the merchant at creation.';

alter table merchant add column if not exists markup_bps integer not null default 0 check (markup_bps between 0 and 10000);

-- The order's rate is the rate of its row: an order cannot name a rate that was never decided.
do $$ begin
  if not exists (select from pg_constraint where conname = 'rate_of_order') then
    alter table rate add constraint rate_of_order unique (rate_id, currency, rate);
    alter table orders add constraint orders_rate foreign key (rate_id, currency, rate) references rate (rate_id, currency, rate) not valid;
    alter table orders add constraint orders_price check (
      num_nulls(currency, price, rate, rate_id, markup_bps) in (0, 5)
      and (price is null or (price ~ '^[0-9]{1,18}(\.[0-9]{1,4})?$' and markup_bps >= 0 and order_type = 'COLLECTION'))) not valid;
  end if;
end $$;

create or replace view new_order with (security_invoker = true) as
  select order_pk as "orderPk", merchant_id as "merchantId", order_id as "orderId", order_type as "orderType", uid, chain, family, symbol,
    contract_address as "contractAddress", decimals, display_decimals as "displayDecimals", amount, accepted_amount as "acceptedAmount",
    address, source_address as "sourceAddress", confirmations_required as "confirmationsRequired",
    late_grace_seconds as "lateGraceSeconds", return_url as "returnUrl", description, signed_data_hash as "signedDataHash", traceparent,
    created_at as "createdAt", expires_at as "expiresAt", currency, price, rate, rate_id as "rateId", markup_bps as "markupBps"
  from orders;

grant insert (currency, price, rate, rate_id, markup_bps) on orders to opentill_api;
grant select (markup_bps) on merchant to opentill_api, opentill_ops;
grant select (rate_id, symbol, currency, rate, valid_until) on rate to opentill_api;
grant select (symbol, currency, rate_id, refusal) on current_rate to opentill_api;
grant select (rate_id) on orders to opentill_rates;
grant select on rate to opentill_ops;

-- step
alter table orders validate constraint orders_rate;
alter table orders validate constraint orders_price;

-- step
do $$ begin
  if exists (select from pg_index where indexrelid = to_regclass('public.orders_rate_id') and not indisvalid) then
    drop index public.orders_rate_id;
  end if;
end $$;

-- step
-- For the deletion of rates. Orders with an amount have no entry.
create index concurrently if not exists orders_rate_id on orders (rate_id) where rate_id is not null;
