-- Rates of coins in currencies, for prices in a currency.

-- The service publishes no events and holds no leases, so its role has no schema.
do $$ begin
  if not exists (select from pg_roles where rolname = 'opentill_rates') then
    begin
      create role opentill_rates login;
    exception when duplicate_object or unique_violation then null; -- another database of the cluster created it concurrently
    end;
  end if;
end $$;
grant usage on schema public to opentill_rates;

create table rate ( -- writer: rates
  rate_id uuid primary key,
  symbol text not null,
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  rate text not null check (rate ~ '^[0-9]{1,18}\.[0-9]{12}$' and rate !~ '^[0.]+$'),
  kind text not null check (kind in ('PEG', 'MARKET', 'MANUAL')),
  sources jsonb not null check (jsonb_array_length(sources) > 0),
  taken_at timestamptz not null,
  valid_until timestamptz not null
);
comment on table rate is 'Each decided rate with the answers that it rests on. A row never changes, and those that no order used are deleted.';
comment on column rate.rate is 'Price of one coin in the currency, rounded down. Text, because numeric columns hold base units.';
comment on column rate.kind is 'PEG: par, because the coin is near its peg. MARKET: at least three sources agree. MANUAL: set by the operator.';
create index rate_taken_at on rate (taken_at);

create table current_rate ( -- writer: rates
  symbol text not null,
  currency text not null,
  rate_id uuid references rate,
  refusal text check (refusal in ('TOO_FEW_SOURCES', 'RATES_STALE', 'SOURCES_DISAGREE', 'DEPEGGED')),
  decided_at timestamptz not null,
  primary key (symbol, currency),
  check ((rate_id is null) = (refusal is not null))
);
comment on table current_rate is 'The newest decision about each pair: a rate, or the reason why there is none. A rate counts until its valid_until.';
create index current_rate_rate on current_rate (rate_id);

grant select (rate_id, taken_at), insert, delete on rate to opentill_rates;
grant select, insert, update (rate_id, refusal, decided_at), delete on current_rate to opentill_rates;
