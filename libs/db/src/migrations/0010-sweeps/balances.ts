/** Has deposit_balance follow what the ledger books of deposits. */
export const DEPOSIT_BALANCES = `
-- A settlement says for which order a transfer is booked, and an order has one deposit address for ever: so what is taken back
-- is taken from where it was booked, also when the transfer has come to stand somewhere else meanwhile.
create or replace function deposit_balance_add(p_order_pk uuid, p_chain text, p_symbol text, p_contract text, p_amount numeric) returns void
language sql security definer set search_path = public, pg_temp as $$
  insert into deposit_balance as b (chain, address, symbol, family, contract_address, order_pk, received)
    select p_chain, d.address, p_symbol, d.family, p_contract, d.order_pk, p_amount from deposit_address d where d.order_pk = p_order_pk
    on conflict (chain, address, symbol) do update set received = b.received + excluded.received, updated_at = now(),
      since = case when b.received <= b.swept + b.reserved then now() else b.since end
$$;
revoke all on function deposit_balance_add(uuid, text, text, text, numeric) from public;

create or replace function deposit_balance_follow() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare t transfer;
begin
  select * into t from transfer where transfer_id = new.transfer_id;
  if tg_op = 'UPDATE' and old.booked_amount is not null then
    perform deposit_balance_add(old.order_pk, t.chain, old.booked_symbol, t.contract_address, -old.booked_amount);
  end if;
  if new.booked_amount is not null then
    perform deposit_balance_add(new.order_pk, t.chain, new.booked_symbol, t.contract_address, new.booked_amount);
  end if;
  return null;
end $$;
revoke all on function deposit_balance_follow() from public;
create or replace trigger transfer_settlement_inserted_follows after insert on transfer_settlement for each row
  when (new.booked_amount is not null and new.order_pk is not null) execute function deposit_balance_follow();
create or replace trigger transfer_settlement_changed_follows after update on transfer_settlement for each row
  when ((old.order_pk is not null or new.order_pk is not null)
    and (old.order_pk, old.booked_amount, old.booked_symbol) is distinct from (new.order_pk, new.booked_amount, new.booked_symbol))
  execute function deposit_balance_follow();

-- What was there before: the triggers hold writers back until this is committed.
insert into deposit_balance (chain, address, symbol, family, contract_address, order_pk, received, since)
  select t.chain, d.address, s.booked_symbol, d.family, min(t.contract_address), d.order_pk, sum(s.booked_amount), min(t.detected_at)
  from transfer_settlement s join transfer t using (transfer_id) join deposit_address d on d.order_pk = s.order_pk
  where s.booked_amount is not null
  group by t.chain, d.address, s.booked_symbol, d.family, d.order_pk
  on conflict do nothing;
`;
