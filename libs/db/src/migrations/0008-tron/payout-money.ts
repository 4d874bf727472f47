/** The money of payouts that ended although they were sent: nothing of theirs can land any more. */
export const RETURNED_MONEY = `
-- As before; and what was sent and ended unpaid comes back. Moves the amount of each payout to where the facts say it is:
--   RESERVED   nothing was sent                             RELEASED  refused or expired, unsent
--   IN_FLIGHT  a broadcast was attempted, or was seen       PAID_OUT  a transaction of it is verified and delivered
--   RETURNED   a transaction of it is verified and failed; or it ended after all that was sent had proven to land nowhere
-- and back to IN_FLIGHT should a reorganisation take a verified one back. All postings are one statement, so that the
-- accounts that payments share are locked in one order. @returns what moved.
create or replace function settle_payout_money(p_order_pks uuid[]) returns table (order_pk uuid, was text, became text)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
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
    ('RESERVED', 'RELEASED', 1, 'RELEASE', 'HOT_AVAILABLE', 'HOT_RESERVED', 0),
    ('RESERVED', 'IN_FLIGHT', 1, 'PAYOUT_SENT', 'IN_FLIGHT', 'HOT_RESERVED', 0),
    ('RESERVED', 'PAID_OUT', 1, 'PAYOUT_SENT', 'IN_FLIGHT', 'HOT_RESERVED', 0),
    ('RESERVED', 'PAID_OUT', 2, 'PAYOUT', 'PAID_OUT', 'IN_FLIGHT', 0),
    ('RESERVED', 'RETURNED', 1, 'PAYOUT_SENT', 'IN_FLIGHT', 'HOT_RESERVED', 0),
    ('RESERVED', 'RETURNED', 2, 'PAYOUT_RETURNED', 'HOT_AVAILABLE', 'IN_FLIGHT', 0),
    ('IN_FLIGHT', 'PAID_OUT', 1, 'PAYOUT', 'PAID_OUT', 'IN_FLIGHT', 0),
    ('IN_FLIGHT', 'RETURNED', 1, 'PAYOUT_RETURNED', 'HOT_AVAILABLE', 'IN_FLIGHT', 0),
    ('PAID_OUT', 'IN_FLIGHT', 1, 'PAYOUT_REVERSED', 'IN_FLIGHT', 'PAID_OUT', 0),
    ('PAID_OUT', 'RETURNED', 1, 'PAYOUT_REVERSED', 'IN_FLIGHT', 'PAID_OUT', 0),
    ('PAID_OUT', 'RETURNED', 2, 'PAYOUT_RETURNED', 'HOT_AVAILABLE', 'IN_FLIGHT', 1),
    ('RETURNED', 'IN_FLIGHT', 1, 'PAYOUT_RETURN_REVERSED', 'IN_FLIGHT', 'HOT_AVAILABLE', 0),
    ('RETURNED', 'PAID_OUT', 1, 'PAYOUT_RETURN_REVERSED', 'IN_FLIGHT', 'HOT_AVAILABLE', 0),
    ('RETURNED', 'PAID_OUT', 2, 'PAYOUT', 'PAID_OUT', 'IN_FLIGHT', 1)
  ), step as (
    select o.order_pk, o.merchant_id, o.chain, o.symbol, o.amount, x.place, x.kind, x.debit, x.credit,
      lower(replace(x.kind, '_', '-')) || ':' || o.order_pk || ':' || (f.money_round + x.rounds) as ref
    from fact f join path x on x.from_money = f.money and x.to_money = f.target join orders o using (order_pk)
  ), line as (
    select ref, kind as tx_kind, debit as kind, chain, symbol, merchant_id, amount from step
    union all select ref, kind, credit, chain, symbol, merchant_id, -amount from step
  ), account as materialized (
    select a.*, ledger_account_for(a.kind, a.chain, a.symbol, a.merchant_id) as account_id
    from (select distinct kind, chain, symbol, case when kind <> 'HOT_AVAILABLE' then merchant_id end as merchant_id
      from line order by kind, chain, symbol, merchant_id) a
  ), written as (
    insert into ledger_transaction (ref, kind, order_pk)
    select s.ref, s.kind, s.order_pk from step s order by s.order_pk, s.place returning ledger_tx_id, ref
  ), posted as (
    insert into ledger_posting (ledger_tx_id, account_id, amount)
    select w.ledger_tx_id, a.account_id, l.amount
    from line l join written w on w.ref = l.ref
      join account a on a.kind = l.kind and a.chain = l.chain and a.symbol = l.symbol
        and a.merchant_id is not distinct from case when l.kind <> 'HOT_AVAILABLE' then l.merchant_id end
  )
  update payout p set money = f.target,
      money_round = f.money_round + (f.money in ('PAID_OUT', 'RETURNED'))::integer
    from fact f
    where p.order_pk = f.order_pk and f.target <> f.money
      and exists (select from path x where x.from_money = f.money and x.to_money = f.target)
    returning p.order_pk, f.money, f.target;
end $$;
`;
