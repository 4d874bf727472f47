/** The state of each chain, as the scanner and the payout signer report it. Only added to. */
export const name = '0029-chain-status';

const SCANNERS = { EVM: 'opentill_scanner_evm', TRON: 'opentill_scanner_tron', SUI: 'opentill_scanner_sui' };

const policy = (name: string, rest: string) =>
  `drop policy if exists ${name} on chain_status; create policy ${name} on chain_status for ${rest};`;

const TABLE = `
create table if not exists chain_status ( -- writer: the scanner of its family, and the signer: the rows of their service
  chain text not null,
  service text not null check (service in ('SCANNER', 'SIGNER')),
  state text not null check (state in ('STARTING', 'RUNNING', 'FAILING', 'PAUSED', 'LEFT_OUT', 'HALTED')),
  reason text,
  detail text,
  since timestamptz not null default clock_timestamp(),
  primary key (chain, service)
);
comment on table chain_status is 'State of each chain by the service that works on it, written under its lease when it changes.';
comment on column chain_status.reason is 'Error code. Null while nothing is wrong.';
comment on column chain_status.since is 'Start of this state and reason.';
alter table chain_status enable row level security;
grant select on chain_status to opentill_api, opentill_ops;
grant select, insert, update on chain_status to opentill_signer, ${Object.values(SCANNERS).join(', ')};
${policy('all_read', 'select using (true)')}
${policy('signer_inserts', `insert to opentill_signer with check (service = 'SIGNER')`)}
${policy('signer_updates', `update to opentill_signer using (service = 'SIGNER') with check (service = 'SIGNER')`)}`;

const ofFamily = ([family, role]: [string, string]) => {
  const rows = `service = 'SCANNER' and chain = any (array(select f.chain from chain_family f where f.family = '${family}'))`;
  const prefix = family.toLowerCase();
  return `
${policy(`${prefix}_inserts`, `insert to ${role} with check (${rows})`)}
${policy(`${prefix}_updates`, `update to ${role} using (${rows}) with check (${rows})`)}`;
};

export const sql = [TABLE, ...Object.entries(SCANNERS).map(ofFamily)].join('\n');
