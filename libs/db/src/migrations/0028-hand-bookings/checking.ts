/** Top-ups that are checked against the chain. */
export const CHECKING = `
-- What the chain must hold above the ledger's hot accounts at p_height, before a top-up of nothing: transfers that the scanner
-- knows and the tracker has not booked, sweeps to a hot wallet on their way, and what left since p_height and is booked already.
create or replace function hot_money_beyond(p_chain text, p_symbol text, p_height bigint) returns numeric
language sql stable security definer set search_path = public, pg_temp as $$
  select coalesce((
      select sum(t.amount) from hot_wallet w join transfer t on t.family = w.family and t.to_address = w.address
        left join transfer_settlement s using (transfer_id)
      where t.chain = p_chain and t.symbol = p_symbol and t.state <> 'ORPHANED' and s.booked_amount is null
        and not exists (select from hot_wallet o where o.family = t.family and o.address = t.from_address)
        and not exists (select from own_transaction o where o.chain = t.chain and o.tx_hash = t.tx_hash)), 0)
    + coalesce((
      select sum(o.amount) from payout p join movement m using (order_pk) join orders o using (order_pk)
      where p.chain = p_chain and p.money = 'IN_FLIGHT' and m.kind = 'SWEEP' and m.target_kind = 'HOT_AVAILABLE' and o.symbol = p_symbol), 0)
    + coalesce((
      select sum(o.amount) from own_transaction_fate f join own_transaction x using (chain, tx_hash) join payout p using (order_pk)
        join orders o using (order_pk) join hot_wallet w on w.family = x.family and w.address = x.wallet
      where f.chain = p_chain and f.state <> 'ORPHANED' and f.block_height > p_height and f.succeeded and f.delivered > 0
        and p.money = 'PAID_OUT' and o.symbol = p_symbol), 0)
    + coalesce((
      select sum(s.booked_fee) from own_transaction_fate f join own_transaction_settlement s using (chain, tx_hash)
      where f.chain = p_chain and f.state <> 'ORPHANED' and f.block_height > p_height and s.booked_symbol = p_symbol), 0)
$$;
revoke all on function hot_money_beyond(text, text, bigint) from public;

-- Books a top-up that the balances of the hot wallets cover, which the signer read at blocks that are verified now.
-- outcome: BOOKED. BEFORE: booked before. SEEN: the scanner knows the transfer, and it is booked when verified. NO_BALANCE: no
-- balance at a verified block of the last six hours. NOT_COVERED: missing is what the chain lacks.
create or replace function book_covered_top_up(p_kind text, p_ref text, p_chain text, p_symbol text, p_amount numeric,
  out outcome text, out height bigint, out missing numeric)
language plpgsql security definer set search_path = public, pg_temp as $$
declare v_balance numeric; v_ledger numeric;
begin
  perform from ledger_account where account_id = ledger_account_for('HOT_AVAILABLE', p_chain, p_symbol, null) for no key update;
  if exists (select from hand_booking b where b.ref = p_ref and b.ended_by is null) then
    perform book_brought_as_of(p_kind, p_ref, p_chain, p_symbol, p_amount, null); -- refuses another amount
    outcome := 'BEFORE';
    return;
  end if;
  if is_top_up_scanned(p_ref, p_chain, p_symbol) then outcome := 'BEFORE'; return; end if;
  if exists (
    select from transfer t join hot_wallet w on w.family = t.family and w.address = t.to_address
    where t.chain = p_chain and t.symbol = p_symbol and t.tx_hash = split_part(p_ref, ':', 2) and t.state <> 'ORPHANED'
  ) then
    outcome := 'SEEN';
    return;
  end if;
  select sum(b.amount), min(b.block_height) into v_balance, height from confirmed_balance b
    join chain_family f on f.chain = b.chain join hot_wallet w on w.family = f.family and w.address = b.wallet
    where b.chain = p_chain and b.symbol = p_symbol and b.seen_at > clock_timestamp() - interval '6 hours';
  if height is null then outcome := 'NO_BALANCE'; return; end if;
  select coalesce(sum(balance), 0) into v_ledger from ledger_account
    where chain = p_chain and symbol = p_symbol and kind in ('HOT_AVAILABLE', 'HOT_RESERVED', 'IN_FLIGHT', 'HOT_GAS');
  missing := v_ledger + hot_money_beyond(p_chain, p_symbol, height) + p_amount - v_balance;
  if missing > 0 then outcome := 'NOT_COVERED'; return; end if;
  perform book_brought_as_of(p_kind, p_ref, p_chain, p_symbol, p_amount, height);
  outcome := 'BOOKED';
end $$;
revoke all on function book_covered_top_up(text, text, text, text, numeric) from public;
grant execute on function book_covered_top_up(text, text, text, text, numeric) to opentill_ops;

-- Books a top-up that the caller has measured at the block p_as_of, while OWNER had the balance p_owner: nothing that came to the
-- hot wallets was booked or reversed since. outcome: BOOKED, BEFORE (booked before), MOVED.
create or replace function book_measured_top_up(p_kind text, p_ref text, p_chain text, p_symbol text, p_amount numeric, p_as_of bigint, p_owner numeric)
returns text language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform from ledger_account where account_id = ledger_account_for('HOT_AVAILABLE', p_chain, p_symbol, null) for no key update;
  if not is_top_up_scanned(p_ref, p_chain, p_symbol)
    and not exists (select from hand_booking b where b.ref = p_ref and b.ended_by is null) and p_owner is distinct from
    coalesce((select balance from ledger_account where kind = 'OWNER' and chain = p_chain and symbol = p_symbol), 0) then
    return 'MOVED';
  end if;
  return case when book_brought_as_of(p_kind, p_ref, p_chain, p_symbol, p_amount, p_as_of) then 'BOOKED' else 'BEFORE' end;
end $$;
revoke all on function book_measured_top_up(text, text, text, text, numeric, bigint, numeric) from public;
grant execute on function book_measured_top_up(text, text, text, text, numeric, bigint, numeric) to opentill_ops;
`;

/** The reversal of a booking. */
export const REVERSING = `
-- Reverses a booking by hand, as far as no transfer was matched with it. outcome: REVERSED. BEFORE: reversed before. SEEN: the
-- transfers that it stands for were scanned. NOT_FOUND. UNCOVERED: it would leave promised money without cover, and the balances
-- of the last ten minutes do not say that the chain lacks it.
create or replace function reverse_top_up(p_ref text, out outcome text, out chain text, out symbol text, out amount numeric)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare b hand_booking; v_kind text; v_hot bigint; v_gas numeric; v_free numeric; v_promised numeric; v_reserved numeric;
  v_balance numeric; v_height bigint; v_newer numeric; v_from_gas numeric; v_from_hot numeric; v_tx bigint;
begin
  select * into b from hand_booking h where h.ref = p_ref order by h.ended_by is null desc, h.ledger_tx_id desc limit 1;
  if not found then outcome := 'NOT_FOUND'; return; end if;
  v_hot := ledger_account_for('HOT_AVAILABLE', b.chain, b.symbol, null);
  perform from ledger_account a where a.account_id = v_hot for no key update;
  select h.* into b from hand_booking h where h.ledger_tx_id = b.ledger_tx_id;
  chain := b.chain; symbol := b.symbol; amount := b.amount - b.matched;
  if b.ended_by is not null then
    select case when t.ref like 'top-up-replaced:%' then 'SEEN' else 'BEFORE' end into outcome
      from ledger_transaction t where t.ledger_tx_id = b.ended_by;
    return;
  elsif amount <= 0 then
    outcome := 'SEEN';
    return;
  end if;
  select t.kind into v_kind from ledger_transaction t where t.ledger_tx_id = b.ledger_tx_id;
  perform from ledger_account a where a.chain = b.chain and a.symbol = b.symbol and a.kind in ('HOT_AVAILABLE', 'HOT_GAS')
    order by a.account_id for no key update;
  select coalesce(sum(a.balance) filter (where a.kind = 'HOT_GAS'), 0), coalesce(sum(a.balance) filter (where a.kind in ('HOT_AVAILABLE', 'HOT_GAS')), 0),
      coalesce(sum(a.balance) filter (where a.kind in ('HOT_RESERVED', 'IN_FLIGHT')), 0), coalesce(sum(a.balance) filter (where a.kind = 'HOT_RESERVED'), 0)
    into v_gas, v_free, v_promised, v_reserved from ledger_account a where a.chain = b.chain and a.symbol = b.symbol;
  if v_free < amount and v_promised > 0 then
    select sum(h.amount), min(h.block_height) into v_balance, v_height from hot_wallet_balance h
      where h.chain = b.chain and h.symbol = b.symbol having max(h.seen_at) > clock_timestamp() - interval '10 minutes';
    select coalesce(sum(s.booked_amount), 0) into v_newer from hot_wallet w join transfer t on t.family = w.family and t.to_address = w.address
      join transfer_settlement s using (transfer_id) where t.chain = b.chain and s.booked_symbol = b.symbol and t.block_height > v_height;
    -- What is in flight may be there no more: without it.
    if v_balance is null or v_balance > v_free + v_reserved - amount - v_newer then outcome := 'UNCOVERED'; return; end if;
  end if;
  -- Coin for fees that became payable is taken from where it went.
  v_from_hot := case when v_kind = 'TOP_UP' then amount else least(greatest(amount - greatest(v_gas, 0), 0), greatest(v_free - v_gas, 0)) end;
  v_from_gas := amount - v_from_hot;
  insert into ledger_transaction (ref, kind) values ('top-up-withdrawn:' || b.ledger_tx_id, 'TOP_UP_REVERSED') returning ledger_tx_id into v_tx;
  insert into ledger_posting (ledger_tx_id, account_id, amount)
    select v_tx, l.account_id, l.amount from (values
      (v_hot, -v_from_hot), (ledger_account_for('HOT_GAS', b.chain, b.symbol, null), -v_from_gas),
      (ledger_account_for('OWNER', b.chain, b.symbol, null), amount)) as l (account_id, amount) where l.amount <> 0;
  update hand_booking h set ended_by = v_tx where h.ledger_tx_id = b.ledger_tx_id;
  outcome := 'REVERSED';
end $$;
revoke all on function reverse_top_up(text) from public;
grant execute on function reverse_top_up(text) to opentill_ops;
`;
