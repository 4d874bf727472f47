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
