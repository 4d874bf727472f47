-- EVM chains by configuration: `opentill setup` adds those of the networks file, and each migration the presets. A chain
-- keeps its name and its id: orders refer to it by name, and under a second name a payment would count twice.

alter table chain_family
  add column chain_id bigint check (chain_id > 0),
  add column kind text check (kind in ('main', 'test'));
create unique index chain_family_by_id on chain_family (chain_id);
comment on table chain_family is 'The chains of each family, and the identity of EVM chains; policies let a scanner write those of its own family only.';
comment on column chain_family.chain_id is 'EIP-155. Null for other families.';

grant select on chain_family to opentill_signer;
