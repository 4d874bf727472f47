/** What reserve() asks of an order besides its money. */
export const RESERVATIONS = `
-- As before; but of what no signer would ever look at, or what would hold its reservation for ever, nothing is reserved: an
-- order's rows are the api's word. Merchants' payouts end within a day (merchant.order_ttl_seconds).
create or replace function reserve(p_order_pk uuid) returns boolean language plpgsql security definer set search_path = public, pg_temp as $$
declare o orders; v_from bigint; v_to bigint; v_balance numeric; v_tx bigint;
begin
  select * into o from orders where order_pk = p_order_pk and order_type = 'PAYOUT' and status = 'INIT';
  if not found then
    raise exception 'no payout % waits for a reservation', p_order_pk using errcode = 'no_data_found';
  elsif not exists (
    select from hot_wallet w join chain_family f using (family) where f.chain = o.chain and f.family = o.family and w.address = o.source_address
  ) then
    raise exception '% is no hot wallet of %', coalesce(o.source_address, 'nothing'), o.chain using errcode = 'integrity_constraint_violation',
      hint = 'opentill setup with PUBLIC_KEYS_FILE writes the hot wallets';
  elsif not isfinite(o.expires_at) or o.expires_at > clock_timestamp() + interval '2 days' then
    raise exception 'payout % would never end', p_order_pk using errcode = 'integrity_constraint_violation';
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

-- Wallets at work that nobody wrote down go on.
insert into hot_wallet (family, address)
  select distinct f.family, n.wallet from wallet_nonce n join chain_family f using (chain) on conflict do nothing;
`;
