-- Money of payouts and movements in the ledger. Callers name payouts, fees or deposits to settle, never amounts.
-- So a call can only bring the ledger in line with the chain, in any order and any number of times.

-- Reserves a payout's amount in the hot wallet and writes its row of payout. Returns true when covered (or
-- reserved before), false when not covered. Rejects orders that no signer would process and that would hold their
-- reservation permanently, because the api writes the order's rows. Payouts of merchants end within a day
-- (merchant.order_ttl_seconds).
create function reserve(p_order_pk uuid) returns boolean language plpgsql security definer set search_path = public, pg_temp as $$
declare o orders; v_from bigint; v_to bigint; v_balance numeric; v_tx bigint;
begin
  select * into o from orders where order_pk = p_order_pk and order_type = 'PAYOUT' and status = 'INIT';
  if not found then
    raise exception 'no payout % waits for a reservation', p_order_pk using errcode = 'no_data_found';
  elsif not exists (
    select from hot_wallet w join chain_family f using (family) where f.chain = o.chain and f.family = o.family and w.address = o.source_address
  ) then
    raise exception '% is not a hot wallet of %', coalesce(o.source_address, 'null'), o.chain using errcode = 'integrity_constraint_violation',
      hint = 'opentill setup with PUBLIC_KEYS_FILE writes the hot wallets';
  elsif not isfinite(o.expires_at) or o.expires_at > clock_timestamp() + interval '2 days' then
    raise exception 'payout % has no valid expiry: it must end within 2 days', p_order_pk using errcode = 'integrity_constraint_violation';
  end if;
  v_from := ledger_account_for('HOT_AVAILABLE', o.chain, o.symbol, null);
  v_to := ledger_account_for('HOT_RESERVED', o.chain, o.symbol, o.merchant_id);
  select balance into v_balance from ledger_account where account_id = v_from for update;
  if not exists (select from ledger_transaction where ref = 'reserve:' || p_order_pk) then
    if o.contract_address is null then -- fees paid without a top-up were taken from the same coin
      v_balance := v_balance + least(0, coalesce((select balance from ledger_account
        where kind = 'HOT_GAS' and chain = o.chain and symbol = o.symbol and merchant_id is null), 0));
    end if;
    if v_balance < o.amount then return false; end if;
    insert into ledger_transaction (ref, kind, order_pk) values ('reserve:' || p_order_pk, 'RESERVE', p_order_pk)
      returning ledger_tx_id into v_tx;
    insert into ledger_posting (ledger_tx_id, account_id, amount) values (v_tx, v_to, o.amount), (v_tx, v_from, -o.amount);
  end if;
  insert into payout (order_pk, chain, wallet, expires_at) values (o.order_pk, o.chain, o.source_address, o.expires_at)
    on conflict do nothing;
  return true;
end $$;

-- Books the amount of each payout where it is according to the facts:
--   RESERVED   not sent                                     RELEASED  refused or expired, not sent
--   IN_FLIGHT  broadcast was attempted, or it was seen      PAID_OUT  one of its transactions is verified and delivered
--   RETURNED   one of its transactions is verified and failed; or it ended after all of them were proven dead
-- and back to IN_FLIGHT when a reorganisation removes a verified one. A movement names its own accounts; SOURCE, RESERVED,
-- SENT and TARGET of a payout are HOT_AVAILABLE, HOT_RESERVED, IN_FLIGHT and PAID_OUT. A delegation moves no money and is not
-- booked. Money returned by a sweep keeps its age. All postings are one statement, so that the accounts that payments
-- share are locked in one order.
-- Returns the facts by which it booked: a row for each outcome of a payout's transactions, or one row without an outcome. The
-- payouts stay locked until the caller's transaction ends. Outcomes are not locked and may change before a second read.
create function settle_payout_money(p_order_pks uuid[])
  returns table (order_pk uuid, was text, became text, payout payout, fate own_transaction_fate, wallet text, to_address text,
    amount numeric, seen_height bigint)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare
  v_places constant text[] := array['SOURCE', 'RESERVED', 'SENT', 'TARGET'];
  v_of_merchants constant text[] := array['HOT_RESERVED', 'IN_FLIGHT', 'PAID_OUT', 'REFUNDED'];
begin
  perform from payout p where p.order_pk = any(p_order_pks) order by p.order_pk for no key update;
  return query
  with known as (
    select p, f, t.wallet, t.to_address, t.amount, c.seen_height
    from payout p left join chain_cursor c on c.chain = p.chain
      left join (own_transaction t join own_transaction_fate f on f.chain = t.chain and f.tx_hash = t.tx_hash)
        on t.order_pk = p.order_pk
    where p.order_pk = any(p_order_pks)
  ), fact as (
    select (p).order_pk, (p).money, (p).money_round, case
        when bool_or((f).state = 'VERIFIED' and (f).succeeded and (f).delivered > 0) then 'PAID_OUT'
        when bool_or((f).state = 'VERIFIED') then 'RETURNED'
        when (p).state in ('REFUSED', 'EXPIRED') and ((p).first_sent_at is not null or count((f).tx_hash) > 0)
          and not coalesce(bool_or((f).state = 'MINED'), false) then 'RETURNED'
        when (p).first_sent_at is not null or count((f).tx_hash) > 0 then 'IN_FLIGHT'
        when (p).state in ('REFUSED', 'EXPIRED') then 'RELEASED'
        else 'RESERVED' end as target
    from known group by p
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
  ), walked as (
    select o.order_pk, o.merchant_id, o.chain, o.symbol, o.amount, o.source_address, f.money, f.target, f.money_round,
      m.kind as movement, array[
        coalesce(m.source_kind, 'HOT_AVAILABLE'), coalesce(m.reserved_kind, 'HOT_RESERVED'),
        coalesce(m.sent_kind, 'IN_FLIGHT'), coalesce(m.target_kind, 'PAID_OUT')] as kinds
    from fact f join orders o using (order_pk) left join movement m using (order_pk)
    where f.target <> f.money and f.money <> 'RELEASED' -- released without being sent: final
  ), step as (
    select w.order_pk, w.merchant_id, w.chain, w.symbol, w.amount, x.place, x.kind, w.kinds[array_position(v_places, x.debit)] as debit,
      w.kinds[array_position(v_places, x.credit)] as credit,
      lower(replace(x.kind, '_', '-')) || ':' || w.order_pk || ':' || (w.money_round + x.rounds) as ref
    from walked w left join path x on x.from_money = w.money and x.to_money = w.target -- no path: the null ref fails
    where w.movement is null or w.movement not in ('DELEGATE', 'UNDELEGATE')
  ), line as (
    select ref, kind as tx_kind, debit as kind, chain, symbol, merchant_id, amount from step
    union all select ref, kind, credit, chain, symbol, merchant_id, -amount from step
  ), deposits as ( -- sweeps: reserved and swept amounts of their deposit addresses
    update deposit_balance b set reserved = b.reserved + d.reserved, swept = b.swept + d.swept,
        since = case when d.is_back then least(b.since, b.held_since) else b.since end,
        held_since = case when d.has_ended then null else b.held_since end, updated_at = now()
      from ( -- one row for each balance: an update applies only one of several
        select w.chain, w.source_address, w.symbol,
          sum(w.amount * ((w.target in ('RESERVED', 'IN_FLIGHT'))::integer - (w.money in ('RESERVED', 'IN_FLIGHT'))::integer)) as reserved,
          sum(w.amount * ((w.target = 'PAID_OUT')::integer - (w.money = 'PAID_OUT')::integer)) as swept,
          bool_or(w.target in ('RELEASED', 'RETURNED')) as is_back,
          bool_or(w.target in ('RELEASED', 'RETURNED', 'PAID_OUT')) as has_ended
        from walked w where w.movement = 'SWEEP' group by w.chain, w.source_address, w.symbol
      ) d
      where b.chain = d.chain and b.address = d.source_address and b.symbol = d.symbol
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
  ), moved as (
    update payout p set money = f.target,
        money_round = f.money_round + (f.money in ('PAID_OUT', 'RETURNED'))::integer
      from fact f
      where p.order_pk = f.order_pk and f.target <> f.money and f.money <> 'RELEASED'
      returning p.order_pk, p.money
  )
  select (k.p).order_pk, (k.p).money, coalesce(m.money, (k.p).money), k.p, k.f, k.wallet, k.to_address, k.amount, k.seen_height
    from known k left join moved m on m.order_pk = (k.p).order_pk;
end $$;

-- Books the fee of each own transaction while its outcome is VERIFIED, with its current value. The payer is the deposit
-- address or the hot wallet; on SUI it is always the hot wallet. A refund larger than the fee is a negative fee.
-- p_fates: a list of {chain, txHash, nativeSymbol, version}; version is the one that the caller settles with this call.
create function settle_network_fees(p_fates jsonb) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
declare v_booked integer;
begin
  insert into own_transaction_settlement (chain, tx_hash)
    select f.chain, f.tx_hash from jsonb_to_recordset(p_fates) as r (chain text, "txHash" text)
      join own_transaction_fate f on f.chain = r.chain and f.tx_hash = r."txHash"
    order by 1, 2 on conflict do nothing;
  perform from own_transaction_settlement s
    where (s.chain, s.tx_hash) in (select r.chain, r."txHash" from jsonb_to_recordset(p_fates) as r (chain text, "txHash" text))
    order by s.chain, s.tx_hash for update;
  with fact as (
    select f.chain, f.tx_hash, t.order_pk, r.version, s.booked_fee, s.booked_symbol, s.bookings,
      case when t.family <> 'SUI' and exists (select from deposit_address d where d.family = t.family and d.address = t.wallet)
        then 'DEPOSIT_GAS' else 'HOT_GAS' end as payer,
      case when f.state = 'VERIFIED' and f.network_fee <> 0 then f.network_fee end as fee,
      case when f.state = 'VERIFIED' and f.network_fee <> 0 then r."nativeSymbol" end as symbol
    from (select distinct on (chain, "txHash") * from jsonb_to_recordset(p_fates) as given
          (chain text, "txHash" text, "nativeSymbol" text, version integer) order by chain, "txHash", version desc) r
      join own_transaction_fate f on f.chain = r.chain and f.tx_hash = r."txHash"
      join own_transaction t on t.chain = f.chain and t.tx_hash = f.tx_hash
      join own_transaction_settlement s on s.chain = f.chain and s.tx_hash = f.tx_hash
  ), changed as (
    select * from fact where (booked_fee, booked_symbol) is distinct from (fee, symbol)
  ), entry as (
    select 'network-fee-reversed:' || chain || ':' || tx_hash || ':' || bookings as ref, 'NETWORK_FEE_REVERSED' as kind, order_pk, chain, payer,
      booked_symbol as symbol, -booked_fee as fee, 1 as place
    from changed where booked_fee is not null
    union all
    select 'network-fee:' || chain || ':' || tx_hash || ':' || (bookings + 1), 'NETWORK_FEE', order_pk, chain, payer, symbol, fee, 2
    from changed where fee is not null
  ), account as materialized (
    select a.*, ledger_account_for('NETWORK_FEE', a.chain, a.symbol, null) as spent, ledger_account_for(a.payer, a.chain, a.symbol, null) as gas
    from (select distinct chain, symbol, payer from entry order by chain, symbol, payer) a
  ), written as (
    insert into ledger_transaction (ref, kind, order_pk) select ref, kind, order_pk from entry order by place, ref returning ledger_tx_id, ref
  ), posted as (
    insert into ledger_posting (ledger_tx_id, account_id, amount)
    select w.ledger_tx_id, l.account_id, l.amount
    from entry e join written w using (ref) join account a using (chain, symbol, payer),
      lateral (values (a.spent, e.fee), (a.gas, -e.fee)) as l (account_id, amount)
  ), settled as (
    update own_transaction_settlement s set settled_version = f.version, booked_fee = f.fee, booked_symbol = f.symbol,
      bookings = s.bookings + ((f.booked_fee, f.booked_symbol) is distinct from (f.fee, f.symbol) and f.fee is not null)::integer,
      updated_at = now()
    from fact f where s.chain = f.chain and s.tx_hash = f.tx_hash
  )
  select count(*) into v_booked from entry;
  return v_booked;
end $$;
