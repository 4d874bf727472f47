/** A wallet's own coins, moved to where payments can be made from them. */
export const GATHERING: readonly string[] = [
  `
alter table own_transaction drop constraint if exists own_transaction_purpose_check, drop constraint if exists own_transaction_purpose,
  add constraint own_transaction_purpose check (purpose in ('PAYOUT', 'CANCEL', 'GATHER')) not valid;`,
  'alter table own_transaction validate constraint own_transaction_purpose',
  `create index concurrently if not exists own_transaction_gather on own_transaction (chain, wallet, signed_at) where purpose = 'GATHER'`,
];
