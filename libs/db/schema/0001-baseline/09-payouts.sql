-- Payouts, the transactions of the gateway, their outcomes, and the decisions of operators about them.

create table hot_wallet ( -- writer: ops
  family text not null check (family in ('EVM', 'TRON', 'SUI')),
  address text not null,
  label text not null default '',
  added_at timestamptz not null default now(),
  primary key (family, address)
);
comment on table hot_wallet is 'The addresses that payouts leave from, in canonical form. Money that arrives there belongs to the operator, not to an order.';

create table hot_wallet_balance ( -- writer: payout-signer
  chain text not null,
  wallet text not null,
  symbol text not null,
  contract_address text,
  amount numeric(78, 0) not null check (amount >= 0),
  block_height bigint not null,
  block_hash text not null,
  seen_at timestamptz not null,
  primary key (chain, wallet, symbol)
);
comment on table hot_wallet_balance is 'Balances of the hot wallets on the chain, for operators and alarms; the ledger decides what may be spent.';

create table payout ( -- inserted by reserve() and begin_movement(); writer: payout-signer; only expire_payouts() expires it
  order_pk uuid primary key references orders,
  chain text not null,
  wallet text not null,
  state text not null default 'REQUESTED' check (state in ('REQUESTED', 'AUTHORISED', 'SIGNED', 'REFUSED', 'EXPIRED')),
  requested_at timestamptz not null default now(),
  expires_at timestamptz not null,
  waiting_since timestamptz,
  authorised_at timestamptz,
  first_sent_at timestamptz,
  reason text,
  obstacle text,
  obstacle_at timestamptz,
  money text not null default 'RESERVED' check (money in ('RESERVED', 'IN_FLIGHT', 'PAID_OUT', 'RETURNED', 'RELEASED')),
  money_round integer not null default 1,
  fencing_token bigint,
  version integer not null default 1,
  updated_at timestamptz not null default now(),
  check ((reason is not null) = (state in ('REFUSED', 'EXPIRED'))),
  check (state not in ('AUTHORISED', 'SIGNED') or authorised_at is not null),
  constraint payout_check3 check (waiting_since is null or state in ('REQUESTED', 'REFUSED'))
) with (fillfactor = 70);
comment on table payout is 'Progress of the signer on a payout. Signing and expiry compete only for state: the first writer wins.';
comment on column payout.wallet is 'The hot wallet that pays: source_address of the order.';
comment on column payout.expires_at is 'expires_at of the order plus the time spent waiting for approval.';
comment on column payout.waiting_since is 'It has waited for approval since this time; its expiry clock is stopped.';
comment on column payout.authorised_at is 'From this time it counts against the limits of the policy while AUTHORISED or SIGNED.';
comment on column payout.first_sent_at is 'First attempt to broadcast.';
comment on column payout.reason is 'The reason that the merchant receives.';
comment on column payout.obstacle is 'Why it is not signed yet, for operators: a code, and details.';
comment on column payout.money is 'Where its amount is in the ledger. Only settle_payout_money() writes it and money_round, which grows with each reorganisation that reverses a booking.';
create index payout_open on payout (chain, requested_at, order_pk) where state in ('REQUESTED', 'AUTHORISED');
create index payout_due on payout (expires_at) where state in ('REQUESTED', 'AUTHORISED') and waiting_since is null;
create index payout_authorised_at on payout (chain, authorised_at) where authorised_at is not null;
create index payout_updated_at on payout (updated_at);
-- One index per query of the signer's pass, so that thousands of payouts waiting for one reason are not read for
-- another.
create index payout_fresh on payout (chain, wallet, requested_at, order_pk) where state = 'REQUESTED' and obstacle is null;
create index payout_hindered on payout (chain, wallet, requested_at, order_pk) where state = 'REQUESTED' and obstacle is not null and (obstacle <> 'NEEDS_APPROVAL' or obstacle_at is null);
create index payout_for_approval on payout (chain, wallet, waiting_since) where state = 'REQUESTED' and obstacle = 'NEEDS_APPROVAL';
create index payout_unsigned on payout (chain, wallet, obstacle_at nulls first, requested_at, order_pk) where state = 'AUTHORISED';
-- For operators.
create index payout_stuck on payout (order_pk) where obstacle is not null and state in ('REQUESTED', 'AUTHORISED', 'SIGNED');
alter table payout enable row level security;
-- The signer may change a payout in every way except expiring it.
create policy all_read on payout for select using (true);
create policy signer_updates on payout for update to opentill_signer using (true) with check (state <> 'EXPIRED');

create table wallet_nonce ( -- writer: payout-signer
  chain text not null,
  wallet text not null,
  nonce bigint not null check (nonce >= 0),
  state text not null check (state in ('RESERVED', 'SIGNED', 'FINAL', 'TAKEN')),
  order_pk uuid references orders,
  purpose text not null default 'PAYOUT' check (purpose in ('PAYOUT', 'CANCEL')),
  updated_at timestamptz not null default now(),
  primary key (chain, wallet, nonce),
  check (purpose = 'PAYOUT' or order_pk is null),
  check (state not in ('SIGNED', 'FINAL') or purpose = 'CANCEL' or order_pk is not null)
);
comment on table wallet_nonce is 'Each nonce of a hot wallet and its user. RESERVED without an order: free. FINAL: used by one of its own transactions; TAKEN: used by a foreign one.';
create unique index wallet_nonce_one_attempt on wallet_nonce (order_pk) where state in ('RESERVED', 'SIGNED');
create index wallet_nonce_open on wallet_nonce (chain, wallet, nonce) where state in ('RESERVED', 'SIGNED');
create index wallet_nonce_taken on wallet_nonce (chain, wallet) where state = 'TAKEN';
create index wallet_nonce_order on wallet_nonce (order_pk) where order_pk is not null;
create trigger wallet_nonce_not_removed before delete on wallet_nonce for each row execute function refuse_removal();
create trigger wallet_nonce_not_emptied before truncate on wallet_nonce execute function refuse_removal();

create table own_transaction ( -- writer: payout-signer. Every signed transaction, stored before it is sent
  chain text not null,
  tx_hash text not null,
  family text not null,
  wallet text not null,
  nonce bigint,
  purpose text not null constraint own_transaction_purpose check (purpose in ('PAYOUT', 'CANCEL', 'GATHER')),
  order_pk uuid references orders,
  contract_address text,
  to_address text not null,
  amount numeric(78, 0) not null check (amount >= 0),
  raw bytea not null,
  fee_terms jsonb not null,
  signed_at timestamptz not null,
  first_sent_at timestamptz,
  last_sent_at timestamptz,
  send_outcome text,
  primary key (chain, tx_hash),
  foreign key (chain, wallet, nonce) references wallet_nonce,
  check ((order_pk is not null) = (purpose = 'PAYOUT')),
  check (purpose = 'CANCEL' or amount > 0)
);
comment on table own_transaction is 'The intent next to the signed bytes. to_address is the receiver, also where the transaction calls a token contract. All transactions of a nonce share its purpose and order, and at most one of them can land.';
comment on column own_transaction.raw is 'The signed bytes: anyone who has them can broadcast the payout. Readable by the signer only.';
create index own_transaction_nonce on own_transaction (chain, wallet, nonce);
create index own_transaction_order on own_transaction (order_pk) where order_pk is not null;
create index own_transaction_gather on own_transaction (chain, wallet, signed_at) where purpose = 'GATHER';
create index own_transaction_signed on own_transaction (chain, signed_at) include (order_pk, nonce) where purpose = 'PAYOUT';
create trigger own_transaction_kept before delete on own_transaction for each row execute function refuse_removal();
create trigger own_transaction_not_emptied before truncate on own_transaction execute function refuse_removal();

create table payout_attempt ( -- writer: payout-signer
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
  first_epoch bigint,
  last_epoch bigint,
  primary key (chain, tx_hash),
  foreign key (chain, tx_hash) references own_transaction,
  unique (chain, wallet, unique_ms),
  check ((dead_height is not null) = (state = 'DEAD') and (dead_hash is not null) = (state = 'DEAD')),
  constraint payout_attempt_epochs check ((first_epoch is null) = (last_epoch is null) and last_epoch >= first_epoch),
  -- The largest safe integer of JavaScript. An attempt never changes, so an unreadable one would block its wallet.
  constraint payout_attempt_readable check (greatest(unique_ms, expires_ms, reference_height, last_epoch) <= 9007199254740991)
);
comment on table payout_attempt is 'A transaction that expires. OPEN: it may land, or has landed and is not verified. SETTLED: verified in a block. DEAD: it expired and is proven to be in no block; only then the payout may get another attempt.';
comment on column payout_attempt.unique_ms is 'Distinguishes it from all others of the wallet: equal payouts would be one transaction otherwise. Ascending.';
comment on column payout_attempt.expires_ms is 'Expiry in milliseconds since 1970 by the chain''s own time. No later block may include it.';
comment on column payout_attempt.reference_height is 'The block that it refers to, verified when it was signed. Only later blocks can include it.';
comment on column payout_attempt.dead_height is 'The second block after its expiry. Every block up to this one was searched.';
comment on column payout_attempt.last_epoch is 'Where epochs end transactions instead of time: the last epoch that may include it. expires_ms is then the expected end of that epoch.';
create unique index payout_attempt_one_alive on payout_attempt (order_pk) where state <> 'DEAD';
create index payout_attempt_open on payout_attempt (chain, wallet) where state = 'OPEN';
create index payout_attempt_order on payout_attempt (order_pk);
create trigger payout_attempt_not_removed before delete on payout_attempt for each row execute function refuse_removal();
create trigger payout_attempt_not_emptied before truncate on payout_attempt execute function refuse_removal();

create table own_transaction_fate ( -- writer: scanner of the family
  chain text not null,
  tx_hash text not null,
  family text not null,
  block_height bigint,
  block_hash text,
  block_time timestamptz,
  state text not null check (state in ('MINED', 'VERIFIED', 'ORPHANED')),
  succeeded boolean not null,
  delivered numeric(78, 0) not null check (delivered >= 0),
  network_fee numeric(78, 0) not null,
  version integer not null default 1,
  updated_at timestamptz not null default now(),
  primary key (chain, tx_hash),
  foreign key (chain, tx_hash) references own_transaction,
  check (state = 'ORPHANED' or (block_height is not null and block_hash is not null and block_time is not null)),
  check (succeeded or delivered = 0),
  constraint own_transaction_fate_network_fee check (network_fee >= 0 or family = 'SUI')
);
comment on table own_transaction_fate is 'Outcome of an own transaction by its receipt. No row: no block has had it yet.';
comment on column own_transaction_fate.delivered is 'Amount of the intended token from the wallet to the intended receiver, by the logs of the receipt; for the native coin its value, if it succeeded.';
comment on column own_transaction_fate.network_fee is 'In the native coin. SUI: less the storage rebate, which may be larger.';
comment on column own_transaction_fate.version is 'Grows with every change of state or block; the tracker stores the version that it has settled.';
create index own_transaction_fate_block on own_transaction_fate (chain, block_height) where state <> 'ORPHANED';
create index own_transaction_fate_open on own_transaction_fate (chain) where state in ('MINED', 'ORPHANED');
create index own_transaction_fate_updated_at on own_transaction_fate (updated_at);
alter table own_transaction_fate enable row level security;
create policy all_read on own_transaction_fate for select using (true);

create table own_transaction_landed ( -- writer: scanner-sui
  chain text not null,
  tx_hash text not null,
  block_height bigint not null,
  block_hash text not null,
  found_at timestamptz not null default clock_timestamp(),
  primary key (chain, tx_hash),
  foreign key (chain, tx_hash) references own_transaction
);
comment on table own_transaction_landed is 'SUI: attempts found in a checkpoint by the verified read, which two sources returned completely. Their outcome follows in own_transaction_fate; they never become DEAD.';
alter table own_transaction_landed enable row level security;
create policy all_read on own_transaction_landed for select using (true);

create table own_transaction_settlement ( -- writer: tracker, only through settle_network_fees()
  chain text not null,
  tx_hash text not null,
  settled_version integer not null default 0,
  booked_fee numeric(78, 0) constraint own_transaction_settlement_booked_fee check (booked_fee <> 0),
  booked_symbol text,
  bookings integer not null default 0,
  updated_at timestamptz not null default now(),
  primary key (chain, tx_hash),
  foreign key (chain, tx_hash) references own_transaction_fate,
  check ((booked_fee is null) = (booked_symbol is null))
);
comment on table own_transaction_settlement is 'The version of each outcome that the tracker has settled, and the fee that is booked in the ledger.';

create table wallet_halt ( -- payout-signer sets FOREIGN_NONCE and RESTORED, ops sets OPERATOR and releases all
  halt_id uuid primary key,
  chain text not null,
  wallet text,
  kind text not null check (kind in ('OPERATOR', 'FOREIGN_NONCE', 'RESTORED')),
  mark bigint check (mark >= 0),
  reason text not null,
  set_by text,
  set_at timestamptz not null default now(),
  released_at timestamptz,
  released_by text,
  released_reason text,
  check (mark is null or kind = 'RESTORED')
);
comment on table wallet_halt is 'While one is open, no payout of that chain, or of that wallet if set, is authorised or signed. Signed transactions are still sent. Under FOREIGN_NONCE and RESTORED payouts do not expire either, because they may have been paid.';
comment on column wallet_halt.kind is 'RESTORED: transactions were sent that this database lacks, because it was restored from an older backup.';
comment on column wallet_halt.mark is 'The signer has proof outside the database that nonces up to this one were used. After the release it signs only transactions without value up to this nonce, and payouts once all of those are final.';
create unique index wallet_halt_foreign_nonce on wallet_halt (chain, wallet) where kind = 'FOREIGN_NONCE' and released_at is null;
create unique index wallet_halt_restored on wallet_halt (chain, coalesce(wallet, '')) where kind = 'RESTORED' and released_at is null;
create index wallet_halt_mark on wallet_halt (chain, wallet, mark) where mark is not null;
create index wallet_halt_open on wallet_halt (chain) where released_at is null;
alter table wallet_halt enable row level security;
create policy all_read on wallet_halt for select using (true);
create policy signer_halts on wallet_halt for insert to opentill_signer with check (kind in ('FOREIGN_NONCE', 'RESTORED') and wallet is not null and released_at is null);
create policy ops_halts on wallet_halt for insert to opentill_ops with check (kind = 'OPERATOR' and released_at is null);
create policy ops_releases on wallet_halt for update to opentill_ops using (released_at is null) with check (released_at is not null);

create table payout_approval ( -- writer: ops. Valid only with the approver's key
  order_pk uuid not null references orders,
  approver text not null check (approver ~ '^[0-9a-f]{64}$'),
  signature bytea not null check (octet_length(signature) = 64),
  approved_at timestamptz not null default now(),
  primary key (order_pk, approver)
);
comment on column payout_approval.approver is 'The approver''s public key, ed25519 in hex: a name could be used with another person''s signature.';
-- Finds approvals by the policy's keys, however many others there are.
create index payout_approval_recent on payout_approval (approver, approved_at);

create table payout_veto ( -- writer: ops
  order_pk uuid primary key references orders,
  operator text not null,
  reason text not null,
  vetoed_at timestamptz not null default now()
);

create table payout_decision ( -- writer: ops; payout-signer handles
  decision_id uuid primary key,
  order_pk uuid not null references orders,
  nonce bigint check (nonce >= 0),
  decision text not null check (decision in ('PAY_AGAIN', 'PAID_BY')),
  tx_hash text,
  reason text not null,
  operator text not null,
  decided_at timestamptz not null default now(),
  handled_at timestamptz,
  outcome text check (outcome in ('DONE', 'NOT_POSSIBLE')),
  detail text,
  unproven_tx_hash text,
  check ((decision = 'PAID_BY') = (tx_hash is not null)),
  constraint payout_decision_check2 check ((handled_at is null) = (outcome is null))
);
comment on table payout_decision is 'An operator''s decision on a payout that a transaction unknown to this database may have paid. PAY_AGAIN: it was not paid; another transaction used its nonce. PAID_BY: this transaction paid it; the signer checks it against the order, by two sources.';
comment on column payout_decision.nonce is 'PAY_AGAIN: the nonce of the payout that is TAKEN, where the chain has nonces. The decision is about this nonce only.';
comment on column payout_decision.outcome is 'NOT_POSSIBLE: detail has the reason. PAY_AGAIN is DONE when the payout is signed again, or its open attempt is DEAD.';
comment on column payout_decision.unproven_tx_hash is 'PAY_AGAIN on chains with epochs: the expired attempt that the operator declares dead without proof. The decision is about this attempt only.';
create unique index payout_decision_open on payout_decision (order_pk) where handled_at is null;
create index payout_decision_order on payout_decision (order_pk);

create table signer.policy_windows (chain text primary key);
comment on table signer.policy_windows is 'A row per chain, which a signer locks to authorise or sign payouts there: limits over time apply to all its wallets together. Any role could take an advisory lock instead and stop the payouts of the chain.';
