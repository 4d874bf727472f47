/**
 * Money that a sweep gives back, having come to nothing, is as old as it was: it does not wait for its age anew, and is seen to wait. And
 * when energy was ordered stands under a name of its own. Only added to.
 */
export const name = '0022-age-of-deposits';

const HELD_SINCE = `
alter table deposit_balance add column if not exists held_since timestamptz;
comment on column deposit_balance.since is 'When the oldest of what lies there free may have come. What a sweep that came to nothing gives back is as old as it was.';
comment on column deposit_balance.held_since is 'The same of what is promised to a sweep, where more has come since it was: for when that is given back.';`;

const DEPOSITED = `
-- As before; how old that is which is promised is kept.
create or replace function deposit_balance_add(p_order_pk uuid, p_chain text, p_symbol text, p_contract text, p_amount numeric) returns void
language sql security definer set search_path = public, pg_temp as $$
  insert into deposit_balance as b (chain, address, symbol, family, contract_address, order_pk, received)
    select p_chain, d.address, p_symbol, d.family, p_contract, d.order_pk, p_amount from deposit_address d where d.order_pk = p_order_pk
    on conflict (chain, address, symbol) do update set received = b.received + excluded.received, updated_at = now(),
      held_since = case when b.received > b.swept + b.reserved then b.held_since when b.reserved > 0 then least(b.held_since, b.since) end,
      since = case when b.received <= b.swept + b.reserved then now() else b.since end
$$;
revoke all on function deposit_balance_add(uuid, text, text, text, numeric) from public;`;

const MOVED = `
-- As before; what a sweep gives back is as old as it was.
create or replace function settle_payout_money(p_order_pks uuid[]) returns table (order_pk uuid, was text, became text)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare
  v_places constant text[] := array['SOURCE', 'RESERVED', 'SENT', 'TARGET'];
  v_of_merchants constant text[] := array['HOT_RESERVED', 'IN_FLIGHT', 'PAID_OUT', 'REFUNDED'];
begin
  perform from payout p where p.order_pk = any(p_order_pks) order by p.order_pk for no key update;
  return query
  with fact as (
    select p.order_pk, p.money, p.money_round, case
        when bool_or(f.state = 'VERIFIED' and f.succeeded and f.delivered > 0) then 'PAID_OUT'
        when bool_or(f.state = 'VERIFIED') then 'RETURNED'
        when p.state in ('REFUSED', 'EXPIRED') and (p.first_sent_at is not null or count(f.tx_hash) > 0)
          and not coalesce(bool_or(f.state = 'MINED'), false) then 'RETURNED'
        when p.first_sent_at is not null or count(f.tx_hash) > 0 then 'IN_FLIGHT'
        when p.state in ('REFUSED', 'EXPIRED') then 'RELEASED'
        else 'RESERVED' end as target
    from payout p left join own_transaction t on t.order_pk = p.order_pk
      left join own_transaction_fate f on f.chain = t.chain and f.tx_hash = t.tx_hash
    where p.order_pk = any(p_order_pks)
    group by p.order_pk
  ), path (from_money, to_money, place, kind, debit, credit, rounds) as (values
    ('RESERVED', 'RELEASED', 1, 'RELEASE', 'SOURCE', 'RESERVED', 0),
    ('RESERVED', 'IN_FLIGHT', 1, 'PAYOUT_SENT', 'SENT', 'RESERVED', 0),
    ('RESERVED', 'PAID_OUT', 1, 'PAYOUT_SENT', 'SENT', 'RESERVED', 0),
    ('RESERVED', 'PAID_OUT', 2, 'PAYOUT', 'TARGET', 'SENT', 0),
    ('RESERVED', 'RETURNED', 1, 'PAYOUT_SENT', 'SENT', 'RESERVED', 0),
    ('RESERVED', 'RETURNED', 2, 'PAYOUT_RETURNED', 'SOURCE', 'SENT', 0),
    ('IN_FLIGHT', 'PAID_OUT', 1, 'PAYOUT', 'TARGET', 'SENT', 0),
    ('IN_FLIGHT', 'RETURNED', 1, 'PAYOUT_RETURNED', 'SOURCE', 'SENT', 0),
    ('PAID_OUT', 'IN_FLIGHT', 1, 'PAYOUT_REVERSED', 'SENT', 'TARGET', 0),
    ('PAID_OUT', 'RETURNED', 1, 'PAYOUT_REVERSED', 'SENT', 'TARGET', 0),
    ('PAID_OUT', 'RETURNED', 2, 'PAYOUT_RETURNED', 'SOURCE', 'SENT', 1),
    ('RETURNED', 'IN_FLIGHT', 1, 'PAYOUT_RETURN_REVERSED', 'SENT', 'SOURCE', 0),
    ('RETURNED', 'PAID_OUT', 1, 'PAYOUT_RETURN_REVERSED', 'SENT', 'SOURCE', 0),
    ('RETURNED', 'PAID_OUT', 2, 'PAYOUT', 'TARGET', 'SENT', 1)
  ), walk (from_money, to_money) as (select distinct from_money, to_money from path
  ), walked as (
    select o.order_pk, o.merchant_id, o.chain, o.symbol, o.amount, o.source_address, f.money, f.target, f.money_round,
      m.kind as movement, array[
        coalesce(m.source_kind, 'HOT_AVAILABLE'), coalesce(m.reserved_kind, 'HOT_RESERVED'),
        coalesce(m.sent_kind, 'IN_FLIGHT'), coalesce(m.target_kind, 'PAID_OUT')] as kinds
    from fact f join orders o using (order_pk) left join movement m using (order_pk)
    where exists (select from walk w where w.from_money = f.money and w.to_money = f.target)
  ), step as (
    select w.order_pk, w.merchant_id, w.chain, w.symbol, w.amount, x.place, x.kind, w.kinds[array_position(v_places, x.debit)] as debit,
      w.kinds[array_position(v_places, x.credit)] as credit,
      lower(replace(x.kind, '_', '-')) || ':' || w.order_pk || ':' || (w.money_round + x.rounds) as ref
    from walked w join path x on x.from_money = w.money and x.to_money = w.target
    where w.movement is null or w.movement not in ('DELEGATE', 'UNDELEGATE')
  ), line as (
    select ref, kind as tx_kind, debit as kind, chain, symbol, merchant_id, amount from step
    union all select ref, kind, credit, chain, symbol, merchant_id, -amount from step
  ), lain as ( -- of a sweep: what is promised from its deposit address, and what has left it
    update deposit_balance b set
        reserved = b.reserved - case when w.money in ('RESERVED', 'IN_FLIGHT') then w.amount else 0 end
          + case when w.target in ('RESERVED', 'IN_FLIGHT') then w.amount else 0 end,
        swept = b.swept - case when w.money = 'PAID_OUT' then w.amount else 0 end + case when w.target = 'PAID_OUT' then w.amount else 0 end,
        since = case when w.target in ('RELEASED', 'RETURNED') then least(b.since, b.held_since) else b.since end,
        held_since = case when w.target in ('RELEASED', 'RETURNED', 'PAID_OUT') then null else b.held_since end, updated_at = now()
      from walked w where w.movement = 'SWEEP' and b.chain = w.chain and b.address = w.source_address and b.symbol = w.symbol
  ), account as materialized (
    select a.*, ledger_account_for(a.kind, a.chain, a.symbol, a.merchant_id) as account_id
    from (select distinct kind, chain, symbol, case when kind = any (v_of_merchants) then merchant_id end as merchant_id
      from line order by kind, chain, symbol, merchant_id) a
  ), written as (
    insert into ledger_transaction (ref, kind, order_pk)
    select s.ref, s.kind, s.order_pk from step s order by s.order_pk, s.place returning ledger_tx_id, ref
  ), posted as (
    insert into ledger_posting (ledger_tx_id, account_id, amount)
    select w.ledger_tx_id, a.account_id, l.amount
    from line l join written w on w.ref = l.ref
      join account a on a.kind = l.kind and a.chain = l.chain and a.symbol = l.symbol
        and a.merchant_id is not distinct from case when l.kind = any (v_of_merchants) then l.merchant_id end
  )
  update payout p set money = f.target,
      money_round = f.money_round + (f.money in ('PAID_OUT', 'RETURNED'))::integer
    from fact f
    where p.order_pk = f.order_pk and f.target <> f.money
      and exists (select from path x where x.from_money = f.money and x.to_money = f.target)
    returning p.order_pk, f.money, f.target;
end $$;`;

const RENT_ORDERED = `
alter table sweep add column if not exists rent_ordered_at timestamptz;
comment on column sweep.rent_ordered_at is 'When energy was ordered for it, of whoever sells some.';
comment on column sweep.obstacle is 'Written by versions before 0022 alone.';
comment on column sweep.obstacle_at is 'rent_ordered_at, for versions before 0022.';
-- What one version writes the other reads.
create or replace function sweep_rent_ordered() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
  new.rent_ordered_at := coalesce(new.rent_ordered_at, new.obstacle_at);
  new.obstacle_at := coalesce(new.obstacle_at, new.rent_ordered_at);
  return new;
end $$;
revoke all on function sweep_rent_ordered() from public;
create or replace trigger sweep_rent_ordered before insert or update on sweep for each row
  when (new.rent_cost is not null and (new.rent_ordered_at is null or new.obstacle_at is null)) execute function sweep_rent_ordered();
update sweep set rent_ordered_at = obstacle_at where rent_cost is not null and rent_ordered_at is null and obstacle_at is not null;`;

export const sql = [HELD_SINCE, DEPOSITED, MOVED, RENT_ORDERED];
