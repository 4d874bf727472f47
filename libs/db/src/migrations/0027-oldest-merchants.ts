/**
 * The api tries a signature that names no merchant for the oldest merchants only, so it reads their age. It looks for
 * changed merchants by their time.
 */
export const name = '0027-oldest-merchants';

export const sql = `
grant select (created_at) on merchant to opentill_api;
create index if not exists merchant_updated_at on merchant (updated_at);`;
