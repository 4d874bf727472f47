/**
 * Sums of the transfers of each collection, so that settling one more transfer does not read the others; and what limits
 * late-payment callbacks. Only added to, but for an index that a wider one replaces.
 */
export const name = '0026-collection-sums';

const TABLES = `
create table if not exists collection_sum ( -- writer: triggers of transfer
  order_pk uuid primary key references orders,
  in_time numeric not null default 0,
  verified_in_time numeric not null default 0,
  verified_late numeric not null default 0
) with (fillfactor = 60);
comment on table collection_sum is 'Base units of the transfers that a collection asks for (chain, token, address) and that are not orphaned. Kept while the order is neither SUCCESS nor FAILED. No row: no transfers.';
create table if not exists collection_height_sum ( -- writer: triggers of transfer
  order_pk uuid not null,
  block_height bigint not null,
  verified_in_time numeric not null,
  primary key (order_pk, block_height)
);
comment on table collection_height_sum is 'collection_sum.verified_in_time by block, for orders that count confirmations: what is not deep enough yet is a range of it.';
create table if not exists collection_away ( -- writer: triggers of transfer
  tx_hash text not null,
  order_pk uuid not null,
  primary key (tx_hash, order_pk)
);
comment on table collection_away is 'Transactions that paid a collection in time, were orphaned, and pay it nothing now.';
create index if not exists collection_away_order on collection_away (order_pk);
create table if not exists relocated_transfer ( -- writer: triggers of transfer
  transfer_id bigint not null references transfer,
  family text not null,
  address text not null,
  primary key (transfer_id, family, address)
);
comment on table relocated_transfer is 'Transfers that a reorganisation moved to another receiver, with each address that they paid.';
create index if not exists relocated_transfer_address on relocated_transfer (family, address);
grant select on collection_sum, collection_height_sum, collection_away, relocated_transfer to opentill_tracker, opentill_ops;`;

const ORDERS = `
alter table orders add column if not exists late_callback_at timestamptz, add column if not exists late_callback_due_at timestamptz;
comment on column orders.late_callback_at is 'When the last callback for late payments of an EXPIRED order was written.';
comment on column orders.late_callback_due_at is 'The order has a late payment that no callback has reported; the next callback may be written from then on.';
grant update (late_callback_at, late_callback_due_at) on orders to opentill_tracker;`;

const REFUNDS = `
alter table movement add column if not exists deposit_order_pk uuid;
comment on column movement.deposit_order_pk is 'REFUND: the collection that the deposit was unmatched for.';
create or replace function movement_names_collection() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  new.deposit_order_pk := (select u.order_pk from unmatched_deposit u where u.transfer_id = new.transfer_id);
  return new;
end $$;
revoke all on function movement_names_collection() from public;
create or replace trigger movement_names_collection before insert on movement for each row
  when (new.transfer_id is not null) execute function movement_names_collection();
update movement m set deposit_order_pk = u.order_pk from unmatched_deposit u
  where u.transfer_id = m.transfer_id and m.deposit_order_pk is null;
create index if not exists movement_deposit_order on movement (deposit_order_pk) where deposit_order_pk is not null;`;

/** Block times are compared with whole seconds, as isInTime does. */
const IN_TIME = (transfer: string) => `${transfer}.first_block_time <= date_trunc('second', o.cutoff_at)`;
const ASKED_FOR = (transfer: string) =>
  `o.chain = ${transfer}.chain and o.contract_address is not distinct from ${transfer}.contract_address`;
const OPEN = `o.order_type = 'COLLECTION' and o.status not in ('SUCCESS', 'FAILED')`;

/** Judges transactions of a table \`touched\` (order_pk, tx_hash) anew by all their transfers, so it may run twice. */
const JUDGE_AWAY = `
  judged as (
    select g.order_pk, g.tx_hash,
      bool_or(t.state = 'ORPHANED' and ${IN_TIME('t')}) and not bool_or(t.state <> 'ORPHANED') as away
    from (select distinct order_pk, tx_hash from touched) g join orders o using (order_pk)
      left join transfer t on t.chain = o.chain and t.tx_hash = g.tx_hash and t.family = o.family and t.to_address = o.address
        and ${ASKED_FOR('t')}
    where ${OPEN} group by g.order_pk, g.tx_hash
  ), back as (
    delete from collection_away a using judged j where a.tx_hash = j.tx_hash and a.order_pk = j.order_pk and j.away is not true
  )
  insert into collection_away (tx_hash, order_pk) select tx_hash, order_pk from judged where away on conflict do nothing;`;

/** Adds what a statement changed. \`changed\` gives rows of transfer with a sign: 1 as it is now, -1 as it was. */
const ADD = (changed: string) => `
  with share as materialized (
    select o.order_pk, t.sign * t.amount as amount, t.block_height, t.state = 'VERIFIED' as verified, ${IN_TIME('t')} as in_time,
      o.confirmations_required is not null as by_depth
    from (${changed}) t join deposit_address d on d.family = t.family and d.address = t.to_address
      join orders o on o.order_pk = d.order_pk and ${ASKED_FOR('t')} and ${OPEN}
    where t.state <> 'ORPHANED'
  ), heights as (
    insert into collection_height_sum as h (order_pk, block_height, verified_in_time)
    select order_pk, block_height, sum(amount) from share where verified and in_time and by_depth
    group by order_pk, block_height having sum(amount) <> 0 order by order_pk, block_height
    on conflict (order_pk, block_height) do update set verified_in_time = h.verified_in_time + excluded.verified_in_time
  ), added as (
    select order_pk, coalesce(sum(amount) filter (where in_time), 0) as in_time,
      coalesce(sum(amount) filter (where in_time and verified), 0) as verified_in_time,
      coalesce(sum(amount) filter (where not in_time and verified), 0) as verified_late
    from share group by order_pk
  )
  insert into collection_sum as s (order_pk, in_time, verified_in_time, verified_late)
  select * from added where (in_time, verified_in_time, verified_late) <> (0, 0, 0) order by order_pk
  on conflict (order_pk) do update set in_time = s.in_time + excluded.in_time,
    verified_in_time = s.verified_in_time + excluded.verified_in_time, verified_late = s.verified_late + excluded.verified_late;`;

const INSERTED = `
create or replace function collection_sum_inserted() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  ${ADD('select n.*, 1 as sign from came n')}
  if exists (select from came n where n.state = 'ORPHANED' or exists (select from collection_away a where a.tx_hash = n.tx_hash)) then
    with touched as (
      select d.order_pk, n.tx_hash from came n join deposit_address d on d.family = n.family and d.address = n.to_address
    ), ${JUDGE_AWAY}
  end if;
  return null;
end $$;
revoke all on function collection_sum_inserted() from public;
create or replace trigger transfer_inserted_summed after insert on transfer
  referencing new table as came for each statement execute function collection_sum_inserted();`;

const UPDATED = `
create or replace function collection_sum_updated() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  ${ADD('select n.*, 1 as sign from came n union all select g.*, -1 from gone g')}
  if exists (
    select from came n join gone g using (transfer_id) where n.state = 'ORPHANED' or g.state = 'ORPHANED'
      or (n.to_address, n.contract_address, n.first_block_time) is distinct from (g.to_address, g.contract_address, g.first_block_time)
  ) then
    with touched as (
      select d.order_pk, t.tx_hash from (select * from came union all select * from gone) t
        join deposit_address d on d.family = t.family and d.address = t.to_address
    ), ${JUDGE_AWAY}
  end if;
  insert into relocated_transfer (transfer_id, family, address)
    select n.transfer_id, a.family, a.address from came n join gone g using (transfer_id)
      cross join lateral (values (n.family, n.to_address), (g.family, g.to_address)) as a (family, address)
    where n.to_address <> g.to_address on conflict do nothing;
  return null;
end $$;
revoke all on function collection_sum_updated() from public;
create or replace trigger transfer_updated_summed after update on transfer
  referencing old table as gone new table as came for each statement execute function collection_sum_updated();`;

/**
 * The lock comes first: a scanner that has changed the order's transfers holds it until its commit, which this then sees,
 * and one that comes later adds to what is counted here.
 */
const RECOUNT = `
create or replace function recount_collection(p_order_pk uuid) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into collection_sum (order_pk) values (p_order_pk) on conflict do nothing;
  perform from collection_sum where order_pk = p_order_pk for update;
  update collection_sum s set (in_time, verified_in_time, verified_late) = (
    select coalesce(sum(t.amount) filter (where ${IN_TIME('t')}), 0),
      coalesce(sum(t.amount) filter (where ${IN_TIME('t')} and t.state = 'VERIFIED'), 0),
      coalesce(sum(t.amount) filter (where not ${IN_TIME('t')} and t.state = 'VERIFIED'), 0)
    from orders o join transfer t on t.family = o.family and t.to_address = o.address and ${ASKED_FOR('t')}
    where o.order_pk = p_order_pk and t.state <> 'ORPHANED'
  ) where s.order_pk = p_order_pk;
  delete from collection_height_sum where order_pk = p_order_pk;
  insert into collection_height_sum (order_pk, block_height, verified_in_time)
    select o.order_pk, t.block_height, sum(t.amount)
    from orders o join transfer t on t.family = o.family and t.to_address = o.address and ${ASKED_FOR('t')}
    where o.order_pk = p_order_pk and t.state = 'VERIFIED' and ${IN_TIME('t')} and o.confirmations_required is not null
    group by 1, 2;
  delete from collection_away where order_pk = p_order_pk;
  with touched as (
    select o.order_pk, t.tx_hash from orders o join transfer t on t.family = o.family and t.to_address = o.address
    where o.order_pk = p_order_pk and t.state = 'ORPHANED'
  ), ${JUDGE_AWAY}
end $$;
revoke all on function recount_collection(uuid) from public;`;

/** Finds the newest transfer of an order in one look; what looks by family and address uses it as well. */
const NEWEST = 'transfer (family, to_address, chain, symbol, block_height, transfer_id)';
const INDEXES = [
  ['transfer_to_newest', NEWEST],
  [
    'orders_late_callback',
    `orders (late_callback_due_at) where late_callback_due_at is not null and status = 'EXPIRED'`,
  ],
].flatMap(([index, columns]) => [
  `do $$ begin
     if exists (select from pg_index where indexrelid = to_regclass('public.${index}') and not indisvalid) then
       drop index public.${index};
     end if;
   end $$`,
  `create index concurrently if not exists ${index} on ${columns}`,
]);

/** Orders of before, each in a transaction of its own: it locks no more than one row that a scanner may want. */
const COUNT_ALL = `
do $$
declare v_order uuid;
begin
  for v_order in
    select o.order_pk from orders o where ${OPEN} and exists (select from transfer t where t.family = o.family and t.to_address = o.address)
  loop
    perform set_config('lock_timeout', '10s', true), set_config('synchronous_commit', 'off', true);
    perform recount_collection(v_order);
    commit;
  end loop;
end $$`;

/** Moved before, and the tracker has not made anything of it yet. */
const RELOCATED = `
insert into relocated_transfer (transfer_id, family, address)
  select t.transfer_id, a.family, a.address
  from transfer_settlement s join transfer t using (transfer_id) left join orders o on o.order_pk = s.order_pk
    cross join lateral (values (t.family, t.to_address), (o.family, o.address)) as a (family, address)
  where s.settled_version <> t.version and a.address is not null
    and (o.address <> t.to_address or s.order_pk is null)
  on conflict do nothing`;

export const sql = [
  TABLES,
  ORDERS,
  REFUNDS,
  RECOUNT,
  `${INSERTED}${UPDATED}`,
  ...INDEXES,
  COUNT_ALL,
  RELOCATED,
  'drop index if exists transfer_to',
];
