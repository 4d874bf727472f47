-- A balance counts once the scanner has stored its block among the verified ones. It stores these blocks: their heights
-- are in `balance_heights()`. Before, the absence of a block counted as agreement, but scanners of EVM chains store only
-- some blocks of a range. Below all stored blocks it still does: there, blocks are deleted.
create or replace function confirm_balance() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare b confirmed_balance;
begin
  insert into confirmed_balance (chain, wallet, symbol, next_amount, next_height, next_hash, next_seen_at)
    values (new.chain, new.wallet, new.symbol, new.amount, new.block_height, new.block_hash, new.seen_at)
    on conflict (chain, wallet, symbol) do nothing;
  select * into b from confirmed_balance c where c.chain = new.chain and c.wallet = new.wallet and c.symbol = new.symbol for update;
  if not exists (select from chain_cursor c where c.chain = b.chain and c.verified_height >= b.next_height) then return null; end if;
  if exists (select from block k where k.chain = b.chain and k.height = b.next_height and k.hash = b.next_hash)
    or b.next_height < (select min(k.height) from block k where k.chain = b.chain) then
    b.amount := b.next_amount; b.block_height := b.next_height; b.seen_at := b.next_seen_at;
  end if;
  update confirmed_balance c set amount = b.amount, block_height = b.block_height, seen_at = b.seen_at,
      next_amount = new.amount, next_height = new.block_height, next_hash = new.block_hash, next_seen_at = new.seen_at
    where c.chain = new.chain and c.wallet = new.wallet and c.symbol = new.symbol;
  return null;
end $$;

-- Heights above p_from, up to p_to, of balances that wait for their block to be verified.
create function balance_heights(p_chain text, p_from bigint, p_to bigint) returns bigint[]
language sql stable security definer set search_path = public, pg_temp as $$
  select coalesce(array_agg(distinct b.next_height), '{}') from confirmed_balance b
  where b.chain = p_chain and b.next_height > p_from and b.next_height <= p_to
$$;
revoke execute on function balance_heights(text, bigint, bigint) from public;
grant execute on function balance_heights(text, bigint, bigint) to opentill_scanner_evm, opentill_scanner_tron, opentill_scanner_sui;
