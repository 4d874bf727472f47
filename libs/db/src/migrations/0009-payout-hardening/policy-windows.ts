/**
 * Whoever authorises or signs on a chain locks its row: the limits over time are of all its wallets together. An advisory lock
 * would do, but any role could take that, and with it stop the payouts of the chain. The signer makes a row when it needs it.
 */
export const POLICY_WINDOWS = `
create table if not exists signer.policy_windows (chain text primary key);
comment on table signer.policy_windows is 'A row per chain, to be locked by whoever authorises or signs payouts there.';
revoke all on signer.policy_windows from public;
grant select, insert, update on signer.policy_windows to opentill_signer;
`;
