/** What bounds the transactions of families without nonces, and how far each is. */
export const PAYOUT_ATTEMPTS = `
create table if not exists payout_attempt ( -- writer: payout-signer
  chain text not null,
  tx_hash text not null,
  wallet text not null,
  order_pk uuid not null references orders,
  state text not null default 'OPEN' check (state in ('OPEN', 'SETTLED', 'DEAD')),
  unique_ms bigint not null check (unique_ms > 0),
  expires_ms bigint not null check (expires_ms > 0),
  reference_height bigint not null check (reference_height >= 0),
  reference_hash text not null,
  dead_height bigint,
  dead_hash text,
  updated_at timestamptz not null default now(),
  primary key (chain, tx_hash),
  foreign key (chain, tx_hash) references own_transaction,
  unique (chain, wallet, unique_ms),
  check ((dead_height is not null) = (state = 'DEAD') and (dead_hash is not null) = (state = 'DEAD'))
);
comment on table payout_attempt is 'A transaction that ends by time. OPEN: it may land, or has and is not verified. SETTLED: verified in a block. DEAD: proven to be in none, and its time is over; only then the payout may get another one.';
comment on column payout_attempt.unique_ms is 'Tells it apart from every other of the wallet: equal payouts would be one transaction otherwise. Grows from one to the next.';
comment on column payout_attempt.expires_ms is 'Milliseconds since 1970 of the chain''s own time: no block of a later time may hold it.';
comment on column payout_attempt.reference_height is 'The block that it refers to: verified when it was signed. It can only be in blocks above.';
comment on column payout_attempt.dead_height is 'The second block past its time: up to there every block was looked through.';
create unique index if not exists payout_attempt_one_alive on payout_attempt (order_pk) where state <> 'DEAD';
create index if not exists payout_attempt_open on payout_attempt (chain, wallet) where state = 'OPEN';
create index if not exists payout_attempt_order on payout_attempt (order_pk);
`;

/** A payout whose transactions are all dead is AUTHORISED again, or ends, although it was sent. When it was sent a trigger guards. */
export const PAYOUT_CHECKS: readonly string[] = [
  'alter table payout drop constraint if exists payout_check2, drop constraint if exists payout_first_sent',
];
