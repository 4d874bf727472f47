/**
 * What a scanner may write follows from a table of chains and no longer from a list in each policy, so that a new
 * chain needs no migration: `migrate` adds the chains of its version. The table has no writer but the owner.
 *
 * The chains are read once per statement, not per row: inserting 200,000 rows took as long as with the list.
 */
export const name = '0002-scanning';

const EVM_CHAIN = `chain = any (array(select f.chain from chain_family f where f.family = 'EVM'))`;
const EVM_ROW = `family = 'EVM' and ${EVM_CHAIN}`;

export const sql = `
create table chain_family ( -- writer: migrate, as the owner
  chain text primary key,
  family text not null
);
comment on table chain_family is 'The chains of each family; a scanner writes those of its own, by policy.';
insert into chain_family (chain, family) values
  ('TRON', 'TRON'), ('TRON_TEST', 'TRON'), ('SUI', 'SUI'), ('SUI_TEST', 'SUI'),
  ('ETH', 'EVM'), ('ETH_SEPOLIA', 'EVM'), ('BSC', 'EVM'), ('BSC_TEST', 'EVM'),
  ('POLYGON', 'EVM'), ('POLYGON_AMOY', 'EVM'), ('AVAX_C_CHAIN', 'EVM'), ('AVAX_FUJI_TEST', 'EVM');
grant select on chain_family to opentill_scanner_evm, opentill_ops;

alter table rescan_request add next_height bigint;
comment on column rescan_request.next_height is 'First height still to be read, so that another replica goes on there. Null: not begun.';
grant update (next_height) on rescan_request to opentill_scanner_evm;

alter policy evm_inserts on chain_cursor with check (${EVM_ROW});
alter policy evm_updates on chain_cursor using (${EVM_ROW}) with check (${EVM_ROW});
alter policy evm_inserts on block with check (${EVM_CHAIN});
alter policy evm_updates on block using (${EVM_CHAIN}) with check (${EVM_CHAIN});
alter policy evm_deletes on block using (${EVM_CHAIN});
alter policy evm_inserts on transfer with check (${EVM_ROW});
alter policy evm_updates on transfer using (${EVM_ROW}) with check (${EVM_ROW});
alter policy evm_answers on rescan_request using (${EVM_CHAIN}) with check (${EVM_CHAIN});
`;
