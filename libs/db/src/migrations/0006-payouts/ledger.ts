const ACCOUNT_KINDS = [
  'DEPOSIT',
  'SUSPENSE',
  'MERCHANT',
  'HOT_AVAILABLE',
  'HOT_RESERVED',
  'IN_FLIGHT',
  'PAID_OUT',
  'HOT_GAS',
  'NETWORK_FEE',
  'COLD',
  'OWNER',
];

/** Which accounts have a part in each kind of transaction. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  DEPOSIT: ['DEPOSIT', 'SUSPENSE'],
  DEPOSIT_REVERSED: ['DEPOSIT', 'SUSPENSE'],
  CREDIT: ['SUSPENSE', 'MERCHANT'],
  CREDIT_REVERSED: ['SUSPENSE', 'MERCHANT'],
  RESERVE: ['HOT_AVAILABLE', 'HOT_RESERVED'],
  RELEASE: ['HOT_AVAILABLE', 'HOT_RESERVED'],
  PAYOUT_SENT: ['HOT_RESERVED', 'IN_FLIGHT'],
  PAYOUT: ['IN_FLIGHT', 'PAID_OUT'],
  PAYOUT_REVERSED: ['IN_FLIGHT', 'PAID_OUT'],
  PAYOUT_RETURNED: ['IN_FLIGHT', 'HOT_AVAILABLE'],
  PAYOUT_RETURN_REVERSED: ['IN_FLIGHT', 'HOT_AVAILABLE'],
  NETWORK_FEE: ['NETWORK_FEE', 'HOT_GAS'],
  NETWORK_FEE_REVERSED: ['NETWORK_FEE', 'HOT_GAS'],
  TOP_UP: ['HOT_AVAILABLE', 'OWNER'],
  GAS_TOP_UP: ['HOT_GAS', 'OWNER'],
  TOP_UP_REVERSED: ['HOT_AVAILABLE', 'HOT_GAS', 'OWNER'],
};
/** What the chain takes back it takes, whether or not it was promised to somebody since. */
const TAKES_WHAT_IS_GONE = ['TOP_UP_REVERSED', 'PAYOUT_RETURN_REVERSED'];

const list = (values: readonly string[]) => values.map((value) => `'${value}'`).join(', ');
const CASES = Object.entries(KINDS)
  .map(([kind, accounts]) => `when '${kind}' then array[${list(accounts)}]`)
  .join('\n        ');

/**
 * The ledger's new kinds, and its trigger that knows them. HOT_AVAILABLE may fall below zero by what a reorganisation took
 * back, and by nothing else: the ledger then says what the chain says, and no reservation passes until it is covered again.
 * HOT_GAS may be negative: fees are paid from the native coin, whoever brought it.
 */
export const LEDGER_KINDS: readonly string[] = [
  `
create or replace function ledger_apply_postings() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare v_tx bigint; v_closed boolean; v_kind text; v_account text; v_overdrawn bigint[];
begin
  select added.ledger_tx_id, t.written_by <> pg_current_xact_id(), t.kind, a.kind into v_tx, v_closed, v_kind, v_account
    from added join ledger_transaction t using (ledger_tx_id) join ledger_account a using (account_id)
    where t.written_by <> pg_current_xact_id() or a.kind <> all (
      case t.kind
        ${CASES}
      end) limit 1;
  if found and v_closed then
    raise exception 'ledger transaction % is closed', v_tx using errcode = 'integrity_constraint_violation';
  elsif found then
    raise exception 'ledger transaction % is a %, which has no part for %', v_tx, v_kind, v_account
      using errcode = 'integrity_constraint_violation';
  end if;
  perform from ledger_account where account_id in (select account_id from added) order by account_id for no key update;
  with changed as (
    update ledger_account a set balance = a.balance + s.amount
      from (select account_id, sum(amount) as amount from added group by account_id) s where a.account_id = s.account_id
      returning a.account_id, a.kind, a.balance
  )
  select array_agg(account_id) into v_overdrawn from changed where kind = 'HOT_AVAILABLE' and balance < 0;
  if v_overdrawn is not null and exists (
    select from added join ledger_transaction t using (ledger_tx_id)
    where account_id = any(v_overdrawn) and amount < 0 and t.kind not in (${list(TAKES_WHAT_IS_GONE)})
  ) then
    raise exception 'HOT_AVAILABLE can not pay that' using errcode = 'check_violation', table = 'ledger_account',
      constraint = 'ledger_assets_not_negative';
  end if;
  return null;
end $$`,
  `alter table ledger_account drop constraint if exists ledger_account_kind_check,
     drop constraint if exists ledger_assets_not_negative,
     add constraint ledger_account_kind_check check (kind in (${list(ACCOUNT_KINDS)})),
     add constraint ledger_assets_not_negative check (kind not in ('DEPOSIT', 'HOT_RESERVED', 'IN_FLIGHT', 'COLD') or balance >= 0)`,
  `comment on table ledger_account is 'DEPOSIT: on deposit addresses. SUSPENSE: verified, not (yet) credited to an order. MERCHANT: credited to orders. HOT_AVAILABLE, HOT_RESERVED, IN_FLIGHT: in the hot wallet, free, promised to payouts or sent and not final. PAID_OUT: left by payouts. HOT_GAS: native coin for fees less the fees paid. NETWORK_FEE: paid to the chains. COLD: in cold storage. OWNER: put in by the operator.'`,
  `alter table ledger_transaction drop constraint if exists ledger_transaction_kind_check,
     add constraint ledger_transaction_kind_check check (kind in (${list(Object.keys(KINDS))})) not valid`,
  `alter table ledger_transaction validate constraint ledger_transaction_kind_check`,
];

/** The reservation makes the payout's row, and what the operator brings is booked once, whoever tells of it. */
export const RESERVATIONS = `
create or replace function reserve(p_order_pk uuid) returns boolean language plpgsql security definer set search_path = public, pg_temp as $$
declare o orders; v_from bigint; v_to bigint; v_balance numeric; v_tx bigint;
begin
  select * into o from orders where order_pk = p_order_pk and order_type = 'PAYOUT' and status = 'INIT';
  if not found then
    raise exception 'no payout % waits for a reservation', p_order_pk using errcode = 'no_data_found';
  end if;
  v_from := ledger_account_for('HOT_AVAILABLE', o.chain, o.symbol, null);
  v_to := ledger_account_for('HOT_RESERVED', o.chain, o.symbol, o.merchant_id);
  select balance into v_balance from ledger_account where account_id = v_from for update;
  if not exists (select from ledger_transaction where ref = 'reserve:' || p_order_pk) then
    if o.contract_address is null then -- fees that were paid and not brought are gone from the same coin
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
revoke all on function reserve(uuid) from public;

-- Books what the operator put into the hot wallet, into p_kind's account. p_ref is <chain>:<transaction>:<symbol>, so twice is
-- once, and so is by hand and by the chain: what settle_hot_wallet_deposits() has booked is not booked again. The account
-- of the asset is locked first, by both. True when booked now.
create or replace function book_brought(p_kind text, p_ref text, p_chain text, p_symbol text, p_amount numeric) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare v_tx bigint; v_account bigint;
begin
  if p_amount is null or p_amount <= 0 or p_amount <> trunc(p_amount) then
    raise exception 'a top-up is a positive whole number of base units' using errcode = 'check_violation';
  end if;
  perform from ledger_account where account_id = ledger_account_for('HOT_AVAILABLE', p_chain, p_symbol, null) for no key update;
  v_account := ledger_account_for(case p_kind when 'TOP_UP' then 'HOT_AVAILABLE' else 'HOT_GAS' end, p_chain, p_symbol, null);
  if exists (
    select from transfer t join hot_wallet w on w.family = t.family and w.address = t.to_address join transfer_settlement s using (transfer_id)
    where t.chain = p_chain and t.symbol = p_symbol and t.tx_hash = split_part(p_ref, ':', 2)
      and split_part(p_ref, ':', 1) = p_chain and s.order_pk is null and s.bookings > 0
  ) then
    return false;
  end if;
  insert into ledger_transaction (ref, kind) values ('top-up:' || p_ref, p_kind) on conflict (ref) do nothing
    returning ledger_tx_id into v_tx;
  if v_tx is null then
    if not exists (
      select from ledger_transaction t join ledger_posting p using (ledger_tx_id)
      where t.ref = 'top-up:' || p_ref and t.kind = p_kind and p.account_id = v_account and p.amount = p_amount
    ) then
      raise exception 'the top-up % was booked with another amount or asset', p_ref using errcode = 'check_violation';
    end if;
    return false;
  end if;
  insert into ledger_posting (ledger_tx_id, account_id, amount) values
    (v_tx, v_account, p_amount), (v_tx, ledger_account_for('OWNER', p_chain, p_symbol, null), -p_amount);
  return true;
end $$;
revoke all on function book_brought(text, text, text, text, numeric) from public;

create or replace function book_top_up(p_ref text, p_chain text, p_symbol text, p_amount numeric) returns boolean
language sql security definer set search_path = public, pg_temp as $$ select book_brought('TOP_UP', p_ref, p_chain, p_symbol, p_amount) $$;
revoke all on function book_top_up(text, text, text, numeric) from public;

-- Native coin for fees, where the chain's coin is no configured token, so that no scanner sees it come.
create or replace function book_gas_top_up(p_ref text, p_chain text, p_symbol text, p_amount numeric) returns boolean
language sql security definer set search_path = public, pg_temp as $$ select book_brought('GAS_TOP_UP', p_ref, p_chain, p_symbol, p_amount) $$;
revoke all on function book_gas_top_up(text, text, text, numeric) from public;
`;
