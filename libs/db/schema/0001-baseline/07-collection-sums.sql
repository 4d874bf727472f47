-- Sums of the transfers of each collection, so that settling one more transfer does not read the others.

create table collection_sum ( -- writer: triggers of transfer
  order_pk uuid primary key references orders,
  in_time numeric not null default 0,
  verified_in_time numeric not null default 0,
  verified_late numeric not null default 0
) with (fillfactor = 60);
comment on table collection_sum is 'Base units of the transfers that a collection asks for (chain, token, address) and that are not orphaned. Kept while the order is neither SUCCESS nor FAILED. No row: no transfers.';

create table collection_height_sum ( -- writer: triggers of transfer
  order_pk uuid not null,
  block_height bigint not null,
  verified_in_time numeric not null,
  primary key (order_pk, block_height)
);
comment on table collection_height_sum is 'collection_sum.verified_in_time by block, for orders that count confirmations: blocks that are not deep enough are a range of it.';

create table collection_away ( -- writer: triggers of transfer
  tx_hash text not null,
  order_pk uuid not null,
  primary key (tx_hash, order_pk)
);
comment on table collection_away is 'Transactions that paid a collection in time, were orphaned, and pay it nothing now.';
create index collection_away_order on collection_away (order_pk);

create table relocated_transfer ( -- writer: triggers of transfer
  transfer_id bigint not null references transfer,
  family text not null,
  address text not null,
  primary key (transfer_id, family, address)
);
comment on table relocated_transfer is 'Transfers that a reorganisation moved to another receiver, with each address that they paid.';
create index relocated_transfer_address on relocated_transfer (family, address);

-- Counts the sums of a collection again. The lock comes first: a scanner that changed the order's transfers holds it until
-- its commit, which this count then includes. A later scanner adds to the counted sums.
create function recount_collection(p_order_pk uuid) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into collection_sum (order_pk) values (p_order_pk) on conflict do nothing;
  perform from collection_sum where order_pk = p_order_pk for update;
  update collection_sum s set (in_time, verified_in_time, verified_late) = (
    select coalesce(sum(t.amount) filter (where t.first_block_time <= date_trunc('second', o.cutoff_at)), 0),
      coalesce(sum(t.amount) filter (where t.first_block_time <= date_trunc('second', o.cutoff_at) and t.state = 'VERIFIED'), 0),
      coalesce(sum(t.amount) filter (where not t.first_block_time <= date_trunc('second', o.cutoff_at) and t.state = 'VERIFIED'), 0)
    from orders o join transfer t on t.family = o.family and t.to_address = o.address and o.chain = t.chain and o.contract_address is not distinct from t.contract_address
    where o.order_pk = p_order_pk and t.state <> 'ORPHANED'
  ) where s.order_pk = p_order_pk;
  delete from collection_height_sum where order_pk = p_order_pk;
  insert into collection_height_sum (order_pk, block_height, verified_in_time)
    select o.order_pk, t.block_height, sum(t.amount)
    from orders o join transfer t on t.family = o.family and t.to_address = o.address and o.chain = t.chain and o.contract_address is not distinct from t.contract_address
    where o.order_pk = p_order_pk and t.state = 'VERIFIED' and t.first_block_time <= date_trunc('second', o.cutoff_at) and o.confirmations_required is not null
    group by 1, 2;
  delete from collection_away where order_pk = p_order_pk;
  with touched as (
    select o.order_pk, t.tx_hash from orders o join transfer t on t.family = o.family and t.to_address = o.address
    where o.order_pk = p_order_pk and t.state = 'ORPHANED'
  ), 
  judged as (
    select g.order_pk, g.tx_hash,
      bool_or(t.state = 'ORPHANED' and t.first_block_time <= date_trunc('second', o.cutoff_at)) and not bool_or(t.state <> 'ORPHANED') as away
    from (select distinct order_pk, tx_hash from touched) g join orders o using (order_pk)
      left join transfer t on t.chain = o.chain and t.tx_hash = g.tx_hash and t.family = o.family and t.to_address = o.address
        and o.chain = t.chain and o.contract_address is not distinct from t.contract_address
    where o.order_type = 'COLLECTION' and o.status not in ('SUCCESS', 'FAILED') group by g.order_pk, g.tx_hash
  ), back as (
    delete from collection_away a using judged j where a.tx_hash = j.tx_hash and a.order_pk = j.order_pk and j.away is not true
  )
  insert into collection_away (tx_hash, order_pk) select tx_hash, order_pk from judged where away on conflict do nothing;
end $$;

-- Recomputes collection_away from all transfers of a transaction, so it may run twice. Block times are compared in
-- whole seconds, like isInTime of libs/domain.
create function collection_sum_inserted() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  
  with share as materialized (
    select o.order_pk, t.sign * t.amount as amount, t.block_height, t.state = 'VERIFIED' as verified, t.first_block_time <= date_trunc('second', o.cutoff_at) as in_time,
      o.confirmations_required is not null as by_depth
    from (select n.*, 1 as sign from came n) t join deposit_address d on d.family = t.family and d.address = t.to_address
      join orders o on o.order_pk = d.order_pk and o.chain = t.chain and o.contract_address is not distinct from t.contract_address and o.order_type = 'COLLECTION' and o.status not in ('SUCCESS', 'FAILED')
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
    verified_in_time = s.verified_in_time + excluded.verified_in_time, verified_late = s.verified_late + excluded.verified_late;
  if exists (select from came n where n.state = 'ORPHANED' or exists (select from collection_away a where a.tx_hash = n.tx_hash)) then
    with touched as (
      select d.order_pk, n.tx_hash from came n join deposit_address d on d.family = n.family and d.address = n.to_address
    ), 
  judged as (
    select g.order_pk, g.tx_hash,
      bool_or(t.state = 'ORPHANED' and t.first_block_time <= date_trunc('second', o.cutoff_at)) and not bool_or(t.state <> 'ORPHANED') as away
    from (select distinct order_pk, tx_hash from touched) g join orders o using (order_pk)
      left join transfer t on t.chain = o.chain and t.tx_hash = g.tx_hash and t.family = o.family and t.to_address = o.address
        and o.chain = t.chain and o.contract_address is not distinct from t.contract_address
    where o.order_type = 'COLLECTION' and o.status not in ('SUCCESS', 'FAILED') group by g.order_pk, g.tx_hash
  ), back as (
    delete from collection_away a using judged j where a.tx_hash = j.tx_hash and a.order_pk = j.order_pk and j.away is not true
  )
  insert into collection_away (tx_hash, order_pk) select tx_hash, order_pk from judged where away on conflict do nothing;
  end if;
  return null;
end $$;
create trigger transfer_inserted_summed after insert on transfer
  referencing new table as came for each statement execute function collection_sum_inserted();

create function collection_sum_updated() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  
  with share as materialized (
    select o.order_pk, t.sign * t.amount as amount, t.block_height, t.state = 'VERIFIED' as verified, t.first_block_time <= date_trunc('second', o.cutoff_at) as in_time,
      o.confirmations_required is not null as by_depth
    from (select n.*, 1 as sign from came n union all select g.*, -1 from gone g) t join deposit_address d on d.family = t.family and d.address = t.to_address
      join orders o on o.order_pk = d.order_pk and o.chain = t.chain and o.contract_address is not distinct from t.contract_address and o.order_type = 'COLLECTION' and o.status not in ('SUCCESS', 'FAILED')
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
    verified_in_time = s.verified_in_time + excluded.verified_in_time, verified_late = s.verified_late + excluded.verified_late;
  if exists (
    select from came n join gone g using (transfer_id) where n.state = 'ORPHANED' or g.state = 'ORPHANED'
      or (n.to_address, n.contract_address, n.first_block_time) is distinct from (g.to_address, g.contract_address, g.first_block_time)
  ) then
    with touched as (
      select d.order_pk, t.tx_hash from (select * from came union all select * from gone) t
        join deposit_address d on d.family = t.family and d.address = t.to_address
    ), 
  judged as (
    select g.order_pk, g.tx_hash,
      bool_or(t.state = 'ORPHANED' and t.first_block_time <= date_trunc('second', o.cutoff_at)) and not bool_or(t.state <> 'ORPHANED') as away
    from (select distinct order_pk, tx_hash from touched) g join orders o using (order_pk)
      left join transfer t on t.chain = o.chain and t.tx_hash = g.tx_hash and t.family = o.family and t.to_address = o.address
        and o.chain = t.chain and o.contract_address is not distinct from t.contract_address
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
create trigger transfer_updated_summed after update on transfer
  referencing old table as gone new table as came for each statement execute function collection_sum_updated();
