/**
 * A deposit of another token, or on another chain, may be accepted for its order by an operator who says what it counts as; and what
 * was given back is credited to nobody. Sweeps that failed lately, and what is promised to sweeps, are found at once. Only added to.
 */
export const name = '0014-unmatched-deposits';

const DECISIONS = `
alter table order_decision
  add column if not exists transfer_id bigint references transfer,
  add column if not exists transfer_symbol text,
  add column if not exists transfer_amount numeric(78, 0),
  add column if not exists worth numeric(78, 0);
alter table order_decision
  drop constraint if exists order_decision_other_money,
  add constraint order_decision_other_money check (
    (transfer_id is null and transfer_symbol is null and transfer_amount is null and worth is null)
    or (decision = 'ACCEPT' and transfer_symbol is not null and transfer_amount > 0 and worth > 0));
comment on column order_decision.transfer_id is 'Of an acceptance with money that the order did not ask for: the transfer, as the operator saw it (symbol, amount). Changed by a reorganisation it is not what was accepted.';
comment on column order_decision.worth is 'What that counts as, in base units of the order''s own token: an operator''s word.';
create index if not exists order_decision_transfer on order_decision (transfer_id) where transfer_id is not null;
grant insert (transfer_id, transfer_symbol, transfer_amount, worth) on order_decision to opentill_ops;
grant execute on function payout_may_move(uuid) to opentill_tracker;
`;

/** As before, but that the order is locked first, as by whoever credits it: of both that happen at once the second one sees the first. */
const REFUNDS = `
create or replace function refund_deposit(p jsonb) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare u unmatched_deposit; t transfer; v_back numeric; v_hot numeric; v_amount numeric := (p ->> 'amount')::numeric; v_count integer;
begin
  perform from orders o where o.order_pk = (select d.order_pk from unmatched_deposit d where d.transfer_id = (p ->> 'transferId')::bigint)
    for no key update;
  select * into u from unmatched_deposit where transfer_id = (p ->> 'transferId')::bigint for update;
  if not found or u.withdrawn then
    raise exception 'no unmatched deposit % can be given back', p ->> 'transferId' using errcode = 'no_data_found';
  end if;
  select * into t from transfer where transfer_id = u.transfer_id;
  if t.state <> 'VERIFIED' or exists (select from transfer_settlement x where x.transfer_id = u.transfer_id and x.credited) then
    raise exception 'the deposit % is not verified, or was credited', u.transfer_id using errcode = 'integrity_constraint_violation';
  elsif exists (select from order_decision d where d.order_pk = u.order_pk and d.decision = 'ACCEPT' and d.handled_at is null) then
    raise exception 'an acceptance of the order of deposit % is under way', u.transfer_id using errcode = 'integrity_constraint_violation';
  elsif (t.chain, t.symbol) is distinct from (p ->> 'chain', p ->> 'symbol') then
    raise exception 'the deposit % is of % on %', u.transfer_id, t.symbol, t.chain using errcode = 'integrity_constraint_violation';
  elsif not exists (select from hot_wallet w where w.family = t.family and w.address = p ->> 'wallet') then
    raise exception '% is no hot wallet', p ->> 'wallet' using errcode = 'integrity_constraint_violation';
  end if;
  select coalesce(sum(o.amount) filter (where payout_may_move(m.order_pk)), 0), count(*) into v_back, v_count
    from movement m join orders o using (order_pk) where m.transfer_id = u.transfer_id;
  if v_back + v_amount > t.amount then
    raise exception 'of the deposit % no more than % is left', u.transfer_id, t.amount - v_back using errcode = 'check_violation';
  end if;
  select balance into v_hot from ledger_account
    where account_id = ledger_account_for('HOT_AVAILABLE', t.chain, t.symbol, null) for update;
  if v_hot < v_amount then return false; end if;
  perform begin_movement(p || jsonb_build_object('kind', 'REFUND', 'merchantId', u.merchant_id,
      'orderId', 'refund:' || u.transfer_id || ':' || (v_count + 1)), 'HOT_AVAILABLE', 'HOT_RESERVED', 'IN_FLIGHT', 'REFUNDED');
  return true;
end $$;
`;

const LOOKS = `
create index if not exists sweep_not_done on sweep (chain, ended_at) where state in ('FAILED', 'ABANDONED');
create index if not exists deposit_promised on deposit_balance (chain) where reserved > 0;
`;

export const sql = [DECISIONS, REFUNDS, LOOKS];
