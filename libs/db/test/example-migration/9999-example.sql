-- Migration with steps for the tests, and the example for real ones. It changes tables while services write them.
alter table payout add column if not exists example text;

-- step
alter table orders add column if not exists example text;

-- step
-- Lock tables in the order in which services write them.
lock table ledger_transaction in access exclusive mode;
lock table ledger_posting in access exclusive mode;
alter table ledger_posting add column if not exists example text;

-- step
lock table delivery, delivery_attempt in access exclusive mode;
alter table delivery_attempt add column if not exists example text;

-- step
-- Drop an index that a failed run left invalid.
do $$ begin
  if exists (select from pg_index where indexrelid = to_regclass('public.example_notification') and not indisvalid) then
    drop index public.example_notification;
  end if;
end $$;

-- step
create index concurrently if not exists example_notification on notification (merchant_id, occurred_at);

-- step
do $$ begin
  if exists (select from pg_index where indexrelid = to_regclass('public.example_payout') and not indisvalid) then
    drop index public.example_payout;
  end if;
end $$;

-- step
-- The migrator recognises a concurrent index below a comment.
create index concurrently if not exists example_payout on payout (wallet, updated_at);

-- step
update payout set example = state where example is null;
