-- Payment links with a price, whose customers choose the coin.

alter table payment_link
  alter column chain drop not null,
  alter column symbol drop not null,
  add column if not exists accept jsonb,
  drop constraint if exists payment_link_coins,
  add constraint payment_link_coins check (num_nulls(chain, symbol) in (0, 2)
    and case when chain is null then currency is not null and (accept is null or jsonb_typeof(accept) = 'array' and accept <> '[]') else accept is null end);
comment on column payment_link.chain is 'Chain of the only coin. Null, like the symbol: the customer chooses.';
comment on column payment_link.accept is 'List of {chain, symbol} that the customer may choose from. Null without a chain: all enabled coins.';
