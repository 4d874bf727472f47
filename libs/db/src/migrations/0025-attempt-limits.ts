/**
 * Limits per time count every signed attempt; a payout that waits for an operator after its last attempt does not expire; and an
 * address is a hot wallet or a deposit address, never both. Only added to.
 */
export const name = '0025-attempt-limits';

const READ_COMMITTED = `if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'addresses are written at isolation level read committed' using errcode = 'integrity_constraint_violation';
  end if;`;

const ONE_PURPOSE = `
-- The insert of a hot wallet locks out the inserts of deposit addresses until its transaction ends, then looks. So of two transactions
-- that insert the same address the later one always sees the row of the earlier one. An older snapshot would hide that row.
create or replace function hot_wallet_is_no_deposit() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  ${READ_COMMITTED}
  lock table deposit_address in share row exclusive mode;
  if exists (select from deposit_address d where d.family = new.family and d.address = new.address) then
    raise exception '% is a deposit address of %, and no hot wallet', new.address, new.family using errcode = 'integrity_constraint_violation';
  end if;
  return null;
end $$;
revoke all on function hot_wallet_is_no_deposit() from public;
create or replace trigger hot_wallet_no_deposit after insert or update of family, address on hot_wallet for each row
  execute function hot_wallet_is_no_deposit();

create or replace function deposit_address_is_no_hot_wallet() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  ${READ_COMMITTED}
  if exists (select from hot_wallet w where w.family = new.family and w.address = new.address) then
    raise exception '% is a hot wallet of %, and no deposit address', new.address, new.family using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
revoke all on function deposit_address_is_no_hot_wallet() from public;
create or replace trigger deposit_address_no_hot_wallet before insert or update of family, address on deposit_address for each row
  execute function deposit_address_is_no_hot_wallet();

do $$
declare v_address text;
begin
  select address into v_address from hot_wallet join deposit_address using (family, address) limit 1;
  if found then
    raise exception '% is in hot_wallet and in deposit_address', v_address using errcode = 'integrity_constraint_violation',
      hint = 'If opentill keys show-xpub does not name it as a hot wallet, delete its row in hot_wallet and find out who wrote it.';
  end if;
end $$;
`;

const DECISIONS = `
-- As before; and a payout whose next attempt needs an operator's decision does not expire before that is carried out: one of its
-- attempts may have paid it, should a proof that it landed nowhere be wrong.
create or replace function expire_payouts(p_order_pks uuid[]) returns setof uuid
language sql security definer set search_path = public, pg_temp as $$
  with due as (
    select order_pk from payout
    where order_pk = any(p_order_pks) and state in ('REQUESTED', 'AUTHORISED') and waiting_since is null
      and clock_timestamp() >= expires_at
      and not coalesce(obstacle = 'CHAIN_AHEAD' and obstacle_at > clock_timestamp() - interval '2 minutes', false)
      and not (state = 'AUTHORISED' and (obstacle is not distinct from 'NEEDS_DECISION' or attempt_is_decided(order_pk)))
      and not exists (select from wallet_halt h where h.chain = payout.chain and (h.wallet is null or h.wallet = payout.wallet)
        and h.kind in ('FOREIGN_NONCE', 'RESTORED') and h.released_at is null)
    order by order_pk for update
  )
  update payout p set state = 'EXPIRED', reason = 'Payout expired', version = p.version + 1, updated_at = clock_timestamp()
    from due where p.order_pk = due.order_pk returning p.order_pk
$$;
`;

const IS_DECIDED = `
-- Whether an operator has decided that there is to be another attempt at a payout, since the last one was signed and since each one that is
-- dead was buried, and there was not another one yet. An earlier decision was about something else.
create or replace function attempt_is_decided(p_order_pk uuid) returns boolean
language sql stable security definer set search_path = public, pg_temp as $$
  select exists (
    select from payout_decision d
    where d.order_pk = p_order_pk and d.decision = 'PAY_AGAIN' and d.handled_at is null
      and d.decided_at > greatest(
        (select max(t.signed_at) from own_transaction t where t.order_pk = p_order_pk),
        (select max(a.updated_at) from payout_attempt a where a.order_pk = p_order_pk and a.state = 'DEAD')))
$$;
revoke all on function attempt_is_decided(uuid) from public;
grant execute on function attempt_is_decided(uuid) to opentill_signer, opentill_tracker;
`;

export const sql = [
  ONE_PURPOSE,
  IS_DECIDED + DECISIONS,
  `do $$ begin
     if exists (select from pg_index where indexrelid = to_regclass('public.own_transaction_signed') and not indisvalid) then
       drop index public.own_transaction_signed;
     end if;
   end $$`,
  `create index concurrently if not exists own_transaction_signed on own_transaction (chain, signed_at) include (order_pk, nonce)
     where purpose = 'PAYOUT'`,
];
