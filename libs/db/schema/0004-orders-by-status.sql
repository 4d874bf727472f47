-- Drop an index that a failed run left invalid.
do $$ begin
  if exists (select from pg_index where indexrelid = to_regclass('public.orders_rare_status') and not indisvalid) then
    drop index public.orders_rare_status;
  end if;
end $$;

-- step
-- For pages of orders by a status that few orders have, which otherwise read the whole table. Orders of the other statuses
-- are many, so the primary key soon finds a page of them. The creation of an order writes no entry.
create index concurrently if not exists orders_rare_status on orders (status, order_pk)
  where status in ('PENDING', 'PENDING_CONFIRMATION', 'FAILED');
