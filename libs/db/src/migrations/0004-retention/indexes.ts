/** Made while others write. What is left half made by a run that failed goes first. */
export const INDEXES: readonly string[] = [
  ['delivery_finished_at', 'delivery (finished_at, event_id) where finished_at is not null'],
  ['notification_created_at', 'notification (created_at, event_id)'],
].flatMap(([index, columns]) => [
  `do $$ begin
     if exists (select from pg_index where indexrelid = to_regclass('public.${index}') and not indisvalid) then
       drop index public.${index};
     end if;
   end $$`,
  `create index concurrently if not exists ${index} on ${columns}`,
]);
