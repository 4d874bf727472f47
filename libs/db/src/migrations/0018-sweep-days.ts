/**
 * What a planner asks in each of its rounds, and whoever measures how sweeps stand: what ended in the last day, and what goes from hot wallets
 * to cold storage. Without indexes that is all that ever moved. Only added to.
 */
export const name = '0018-sweep-days';

const INDEXES = [
  ['sweep_ended', 'sweep (chain, ended_at) where ended_at is not null'],
  ['movement_to_cold', "movement (created_at) where kind = 'TO_COLD'"],
] as const;

export const sql = INDEXES.flatMap(([index, columns]) => [
  `do $$ begin
     if exists (select from pg_index where indexrelid = to_regclass('public.${index}') and not indisvalid) then
       drop index public.${index};
     end if;
   end $$`,
  `create index concurrently if not exists ${index} on ${columns}`,
]);
