/**
 * The ledger's zero sum, checked once per statement and not once per row at commit. The accounts of a transaction's
 * postings are locked until its commit, by everybody's payments the same ones: so a thousand checks there are a thousand
 * in the way of all others (measured: 500 payments, 3,000 checks, half of the time that the accounts were locked).
 */
export const name = '0005-ledger-checks';

/**
 * Stricter than before: each statement's postings balance by themselves, per ledger transaction and asset, and none is ever
 * changed or removed, so every ledger transaction sums to zero at every moment. Everybody posts whole entries by one
 * statement, services of before included.
 */
export const sql = `
lock table ledger_transaction in access exclusive mode; -- first, as those do who write to both
lock table ledger_posting in access exclusive mode;

create function ledger_check_balanced() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare v_tx bigint;
begin
  select p.ledger_tx_id into v_tx from added p join ledger_account a using (account_id)
    group by p.ledger_tx_id, a.chain, a.symbol having sum(p.amount) <> 0 limit 1;
  if found then
    raise exception 'ledger transaction % does not sum to zero', v_tx using errcode = 'integrity_constraint_violation';
  end if;
  return null;
end $$;
revoke all on function ledger_check_balanced() from public;
create trigger ledger_posting_balanced after insert on ledger_posting
  referencing new table as added for each statement execute function ledger_check_balanced();
drop trigger ledger_posting_zero_sum on ledger_posting;

create function ledger_check_posted() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if not exists (select from ledger_posting where ledger_tx_id = new.ledger_tx_id) then
    raise exception 'ledger transaction % has no postings', new.ledger_tx_id using errcode = 'integrity_constraint_violation';
  end if;
  return null;
end $$;
revoke all on function ledger_check_posted() from public;
create constraint trigger ledger_transaction_posted after insert on ledger_transaction
  deferrable initially deferred for each row execute function ledger_check_posted();
drop trigger ledger_transaction_zero_sum on ledger_transaction;
drop function ledger_check_zero_sum();
`;
