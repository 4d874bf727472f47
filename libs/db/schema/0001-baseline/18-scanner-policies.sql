-- A scanner writes rows of its own family only, so that it can neither forge deposits nor expire orders of another
-- family. The subquery reads the chains once per statement, not per row.

do $$
declare f text; k text; r text; v_chain text; v_row text;
begin
  foreach f in array array['EVM', 'TRON', 'SUI'] loop
    k := lower(f);
    r := 'opentill_scanner_' || k;
    v_chain := format('chain = any (array(select f.chain from chain_family f where f.family = %L))', f);
    v_row := format('family = %L and %s', f, v_chain);
    execute format($p$
      create policy %1$s_inserts on chain_cursor for insert to %2$I with check (%4$s);
      create policy %1$s_updates on chain_cursor for update to %2$I using (%4$s) with check (%4$s);
      create policy %1$s_inserts on block for insert to %2$I with check (%3$s);
      create policy %1$s_updates on block for update to %2$I using (%3$s) with check (%3$s);
      create policy %1$s_deletes on block for delete to %2$I using (%3$s);
      create policy %1$s_inserts on transfer for insert to %2$I with check (%4$s);
      create policy %1$s_updates on transfer for update to %2$I using (%4$s) with check (%4$s);
      create policy %1$s_answers on rescan_request for update to %2$I using (%3$s) with check (%3$s);
      create policy %1$s_inserts on own_transaction_fate for insert to %2$I with check (%4$s);
      create policy %1$s_updates on own_transaction_fate for update to %2$I using (%4$s) with check (%4$s);
      create policy %1$s_inserts on chain_status for insert to %2$I with check (service = 'SCANNER' and %3$s);
      create policy %1$s_updates on chain_status for update to %2$I using (service = 'SCANNER' and %3$s)
        with check (service = 'SCANNER' and %3$s);
    $p$, k, r, v_chain, v_row);
    continue when f = 'EVM'; -- its wallets have nonces
    execute format($p$
      create policy %1$s_inserts on foreign_transaction for insert to %2$I with check (halt_id is null and %3$s);
      create policy %1$s_inserts on foreign_transfer for insert to %2$I with check (%3$s);
    $p$, k, r, v_chain);
  end loop;
end $$;

create policy sui_inserts on own_transaction_landed for insert to opentill_scanner_sui
  with check (chain = any (array(select f.chain from chain_family f where f.family = 'SUI')));
create policy sui_inserts on epoch_end for insert to opentill_scanner_sui
  with check (chain = any (array(select f.chain from chain_family f where f.family = 'SUI')));
create policy sui_inserts on epoch_committee for insert to opentill_scanner_sui
  with check (chain = any (array(select f.chain from chain_family f where f.family = 'SUI')));
create policy sui_updates on epoch_committee for update to opentill_scanner_sui
  using (chain = any (array(select f.chain from chain_family f where f.family = 'SUI')))
  with check (chain = any (array(select f.chain from chain_family f where f.family = 'SUI')));

-- True while a scanner must follow the chain closely: an order, a payout or one of the gateway's transactions is open, a
-- payment waits for its depth, or blocks are to be read again. Payouts that wait for approval are not due. Scanners ask at
-- each poll, so every condition is that of a partial index; without sequential scans, old statistics cannot make it slow.
create function is_chain_awaited(p_chain text) returns boolean
language plpgsql stable security definer set search_path = public, pg_temp set enable_seqscan = off as $$
begin
  return exists (select from orders o where o.chain = p_chain and o.order_type = 'COLLECTION' and o.status in ('INIT', 'PENDING'))
    or exists (select from orders o where o.chain = p_chain and o.order_type = 'COLLECTION' and o.status = 'PENDING_CONFIRMATION')
    or exists (select from transfer t where t.chain = p_chain and t.state = 'DETECTED'
      and t.block_height > (select c.verified_height from chain_cursor c where c.chain = p_chain))
    or exists (select from payout p where p.chain = p_chain and p.state = 'REQUESTED' and p.obstacle is null)
    or exists (select from payout p where p.chain = p_chain and p.state = 'REQUESTED' and p.obstacle is not null
      and (p.obstacle <> 'NEEDS_APPROVAL' or p.obstacle_at is null))
    or exists (select from payout p where p.chain = p_chain and p.state = 'AUTHORISED')
    or exists (select from wallet_nonce n where n.chain = p_chain and n.state = 'SIGNED')
    or exists (select from payout_attempt a where a.chain = p_chain and a.state = 'OPEN')
    or exists (select from own_transaction_fate f where f.chain = p_chain and f.state = 'MINED')
    or exists (select from rescan_request r where r.chain = p_chain and r.done_at is null);
end $$;
