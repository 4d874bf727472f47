const ACCOUNT_KINDS = [
  'DEPOSIT',
  'DEPOSIT_RESERVED',
  'DEPOSIT_SENT',
  'DEPOSIT_GAS',
  'SUSPENSE',
  'MERCHANT',
  'HOT_AVAILABLE',
  'HOT_RESERVED',
  'IN_FLIGHT',
  'PAID_OUT',
  'REFUNDED',
  'HOT_GAS',
  'NETWORK_FEE',
  'COLD',
  'OWNER',
];

/** Where an amount may come from, be promised, be on its way, and end: of payouts, and of the gateway's own movements. */
const SOURCES = ['HOT_AVAILABLE', 'HOT_GAS', 'DEPOSIT'];
const RESERVED = ['HOT_RESERVED', 'DEPOSIT_RESERVED'];
const SENT = ['IN_FLIGHT', 'DEPOSIT_SENT'];
const TARGETS = ['PAID_OUT', 'REFUNDED', 'COLD', 'DEPOSIT_GAS', 'HOT_AVAILABLE'];

/** Which accounts have a part in each kind of transaction. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  DEPOSIT: ['DEPOSIT', 'SUSPENSE'],
  DEPOSIT_REVERSED: ['DEPOSIT', 'SUSPENSE'],
  CREDIT: ['SUSPENSE', 'MERCHANT'],
  CREDIT_REVERSED: ['SUSPENSE', 'MERCHANT'],
  RESERVE: [...SOURCES, ...RESERVED],
  RELEASE: [...SOURCES, ...RESERVED],
  PAYOUT_SENT: [...RESERVED, ...SENT],
  PAYOUT: [...SENT, ...TARGETS],
  PAYOUT_REVERSED: [...SENT, ...TARGETS],
  PAYOUT_RETURNED: [...SENT, ...SOURCES],
  PAYOUT_RETURN_REVERSED: [...SENT, ...SOURCES],
  NETWORK_FEE: ['NETWORK_FEE', 'HOT_GAS', 'DEPOSIT_GAS'],
  NETWORK_FEE_REVERSED: ['NETWORK_FEE', 'HOT_GAS', 'DEPOSIT_GAS'],
  TOP_UP: ['HOT_AVAILABLE', 'OWNER'],
  GAS_TOP_UP: ['HOT_GAS', 'OWNER'],
  TOP_UP_REVERSED: ['HOT_AVAILABLE', 'HOT_GAS', 'OWNER'],
};
/** What the chain takes back it takes, whether or not it was promised to somebody since. */
const TAKES_WHAT_IS_GONE = [
  'TOP_UP_REVERSED',
  'PAYOUT_RETURN_REVERSED',
  'PAYOUT_REVERSED',
  'DEPOSIT_REVERSED',
];
/** Never below zero but by such a one. */
const HELD = ['HOT_AVAILABLE', 'DEPOSIT'];

const list = (values: readonly string[]) => values.map((value) => `'${value}'`).join(', ');
const CASES = Object.entries(KINDS)
  .map(([kind, accounts]) => `when '${kind}' then array[${list(accounts)}]`)
  .join('\n        ');

/**
 * The ledger's accounts of sweeps, and its trigger that knows them. DEPOSIT, as HOT_AVAILABLE, may fall below zero by what a
 * reorganisation took back, and by nothing else: a deposit may be swept before that. DEPOSIT_GAS may be negative, as HOT_GAS:
 * fees are paid from the native coin, whoever brought it.
 */
export const SWEEP_LEDGER: readonly string[] = [
  `
create or replace function ledger_apply_postings() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare v_tx bigint; v_closed boolean; v_kind text; v_account text; v_overdrawn bigint[]; v_name text;
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
  select array_agg(account_id), min(kind) into v_overdrawn, v_name from changed where kind in (${list(HELD)}) and balance < 0;
  if v_overdrawn is not null and exists (
    select from added join ledger_transaction t using (ledger_tx_id)
    where account_id = any(v_overdrawn) and amount < 0 and t.kind not in (${list(TAKES_WHAT_IS_GONE)})
  ) then
    raise exception '% can not pay that', v_name using errcode = 'check_violation', table = 'ledger_account',
      constraint = 'ledger_assets_not_negative';
  end if;
  return null;
end $$`,
  `alter table ledger_account drop constraint if exists ledger_account_kind_check,
     drop constraint if exists ledger_assets_not_negative,
     add constraint ledger_account_kind_check check (kind in (${list(ACCOUNT_KINDS)})),
     add constraint ledger_assets_not_negative
       check (kind not in ('HOT_RESERVED', 'IN_FLIGHT', 'DEPOSIT_RESERVED', 'DEPOSIT_SENT', 'COLD') or balance >= 0)`,
  `comment on table ledger_account is 'DEPOSIT, DEPOSIT_RESERVED, DEPOSIT_SENT: on deposit addresses, free, promised to sweeps or sent by them and not final. DEPOSIT_GAS: native coin sent there for fees, less the fees paid. SUSPENSE: verified, not (yet) credited to an order. MERCHANT: credited to orders. HOT_AVAILABLE, HOT_RESERVED, IN_FLIGHT: in the hot wallet, free, promised to payouts or sent and not final. PAID_OUT: left by payouts. REFUNDED: given back of SUSPENSE. HOT_GAS: native coin for fees less the fees paid. NETWORK_FEE: paid to the chains. COLD: in cold storage. OWNER: put in by the operator.'`,
];
