/** Payouts, their transactions, and what operators say to them. */
export const PAYOUT_TABLES = `
create table if not exists hot_wallet ( -- writer: ops
  family text not null check (family in ('EVM', 'TRON', 'SUI')),
  address text not null,
  label text not null default '',
  added_at timestamptz not null default now(),
  primary key (family, address)
);
comment on table hot_wallet is 'The addresses that payouts leave from, in canonical form. What comes in there is the operator''s money, no order''s.';

create table if not exists payout ( -- row by reserve(); writer: payout-signer; expires by expire_payouts() alone
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
  check (first_sent_at is null or state = 'SIGNED'),
  check (waiting_since is null or state in ('REQUESTED', 'REFUSED'))
) with (fillfactor = 70);
comment on table payout is 'How far the signer is with a payout. state is the one row that decides between signing and expiring: who changes it first has it.';
comment on column payout.wallet is 'The hot wallet that pays: source_address of the order.';
comment on column payout.expires_at is 'expires_at of the order and the time spent waiting for operators'' approval.';
comment on column payout.waiting_since is 'Waits for operators'' approval: its clock stands.';
comment on column payout.authorised_at is 'From then on it counts against the policy''s limits, while AUTHORISED or SIGNED.';
comment on column payout.first_sent_at is 'A first attempt to broadcast was made.';
comment on column payout.reason is 'What the merchant is told.';
comment on column payout.obstacle is 'Why it is not signed yet, for operators: a word, and details.';
comment on column payout.money is 'Where its amount stands in the ledger. Written by settle_payout_money() alone, as money_round, which begins anew with each reorganisation that took back what was booked.';
create index if not exists payout_open on payout (chain, requested_at, order_pk) where state in ('REQUESTED', 'AUTHORISED');
create index if not exists payout_due on payout (expires_at) where state in ('REQUESTED', 'AUTHORISED') and waiting_since is null;
create index if not exists payout_authorised_at on payout (chain, authorised_at) where authorised_at is not null;
create index if not exists payout_updated_at on payout (updated_at);

create table if not exists wallet_nonce ( -- writer: payout-signer
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
comment on table wallet_nonce is 'Each nonce of a hot wallet and who has it. RESERVED without an order: free. FINAL: used for good by one of its own transactions; TAKEN: by somebody else''s.';
create unique index if not exists wallet_nonce_one_attempt on wallet_nonce (order_pk) where state in ('RESERVED', 'SIGNED');
create index if not exists wallet_nonce_open on wallet_nonce (chain, wallet, nonce) where state in ('RESERVED', 'SIGNED');
create index if not exists wallet_nonce_taken on wallet_nonce (chain, wallet) where state = 'TAKEN';
create index if not exists wallet_nonce_order on wallet_nonce (order_pk) where order_pk is not null;

create table if not exists own_transaction ( -- writer: payout-signer. Every transaction ever signed, stored before it is sent
  chain text not null,
  tx_hash text not null,
  family text not null,
  wallet text not null,
  nonce bigint,
  purpose text not null check (purpose in ('PAYOUT', 'CANCEL')),
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
comment on table own_transaction is 'The intent beside the signed bytes. to_address is the receiver, also where the transaction goes to a token contract; all transactions of a nonce share its purpose and order, and at most one of them can land.';
comment on column own_transaction.raw is 'The signed bytes: whoever has them can have the payout made. Readable by the signer alone.';
create index if not exists own_transaction_nonce on own_transaction (chain, wallet, nonce);
create index if not exists own_transaction_order on own_transaction (order_pk) where order_pk is not null;

create table if not exists own_transaction_fate ( -- writer: scanner of the family
  chain text not null,
  tx_hash text not null,
  family text not null,
  block_height bigint,
  block_hash text,
  block_time timestamptz,
  state text not null check (state in ('MINED', 'VERIFIED', 'ORPHANED')),
  succeeded boolean not null,
  delivered numeric(78, 0) not null check (delivered >= 0),
  network_fee numeric(78, 0) not null check (network_fee >= 0),
  version integer not null default 1,
  updated_at timestamptz not null default now(),
  primary key (chain, tx_hash),
  foreign key (chain, tx_hash) references own_transaction,
  check (state = 'ORPHANED' or (block_height is not null and block_hash is not null and block_time is not null)),
  check (succeeded or delivered = 0)
);
comment on table own_transaction_fate is 'What the chain made of an own transaction, by its receipt. No row: it was in no block yet.';
comment on column own_transaction_fate.delivered is 'Of the intended token from the wallet to the intended receiver, by the receipt''s logs; of the native coin its value, if it succeeded.';
comment on column own_transaction_fate.network_fee is 'In the native coin.';
comment on column own_transaction_fate.version is 'Grows with every change of state or block; the tracker remembers which one it has settled.';
create index if not exists own_transaction_fate_block on own_transaction_fate (chain, block_height) where state <> 'ORPHANED';
create index if not exists own_transaction_fate_open on own_transaction_fate (chain) where state in ('MINED', 'ORPHANED');
create index if not exists own_transaction_fate_updated_at on own_transaction_fate (updated_at);

create table if not exists own_transaction_settlement ( -- writer: tracker, by settle_network_fees() alone
  chain text not null,
  tx_hash text not null,
  settled_version integer not null default 0,
  booked_fee numeric(78, 0) check (booked_fee > 0),
  booked_symbol text,
  bookings integer not null default 0,
  updated_at timestamptz not null default now(),
  primary key (chain, tx_hash),
  foreign key (chain, tx_hash) references own_transaction_fate,
  check ((booked_fee is null) = (booked_symbol is null))
);
comment on table own_transaction_settlement is 'What the tracker has made of each fate, and which fee stands in the ledger.';

create table if not exists hot_wallet_balance ( -- writer: payout-signer
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
comment on table hot_wallet_balance is 'What the chain says of the hot wallets, for operators and alarms; the ledger says what may be spent.';
`;

/** What operators decide. */
export const OPERATOR_TABLES = `
create table if not exists wallet_halt ( -- payout-signer sets FOREIGN_NONCE and RESTORED, ops sets OPERATOR and releases all
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
comment on table wallet_halt is 'While one is open nothing new is authorised or signed on that chain, of that wallet if one is named. What is signed is still sent. Under FOREIGN_NONCE and RESTORED nothing expires either: it may have been paid.';
comment on column wallet_halt.kind is 'RESTORED: transactions were sent that this database does not know; it is older than they are.';
comment on column wallet_halt.mark is 'Up to this nonce the signer has proof of its own that something was sent. Released: up to there only transactions that move nothing are signed, and payouts when all of those are final.';
create unique index if not exists wallet_halt_foreign_nonce on wallet_halt (chain, wallet) where kind = 'FOREIGN_NONCE' and released_at is null;
create unique index if not exists wallet_halt_restored on wallet_halt (chain, coalesce(wallet, '')) where kind = 'RESTORED' and released_at is null;
create index if not exists wallet_halt_mark on wallet_halt (chain, wallet, mark) where mark is not null;
create index if not exists wallet_halt_open on wallet_halt (chain) where released_at is null;

create table if not exists payout_approval ( -- writer: ops; worth nothing but by an approver's key
  order_pk uuid not null references orders,
  approver text not null check (approver ~ '^[0-9a-f]{64}$'),
  signature bytea not null check (octet_length(signature) = 64),
  approved_at timestamptz not null default now(),
  primary key (order_pk, approver)
);
comment on column payout_approval.approver is 'The approver''s public key, ed25519 in hex: a name could be taken by another''s signature.';

create table if not exists payout_veto ( -- writer: ops
  order_pk uuid primary key references orders,
  operator text not null,
  reason text not null,
  vetoed_at timestamptz not null default now()
);

create table if not exists payout_decision ( -- writer: ops; payout-signer handles
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
  check ((decision = 'PAID_BY') = (tx_hash is not null)),
  check (decision = 'PAID_BY' or nonce is not null),
  check ((handled_at is null) = (outcome is null))
);
comment on table payout_decision is 'What an operator says of a payout that may have been paid by a transaction unknown to this database. PAY_AGAIN: it was not, its nonce was taken by something else. PAID_BY: this transaction paid it; the signer holds it against the order, by two sources.';
comment on column payout_decision.nonce is 'Of PAY_AGAIN: the nonce of the payout that is TAKEN. A decision is about this one and no later one.';
comment on column payout_decision.outcome is 'NOT_POSSIBLE: detail says why. PAY_AGAIN is DONE when the payout is signed again.';
create unique index if not exists payout_decision_open on payout_decision (order_pk) where handled_at is null;
create index if not exists payout_decision_order on payout_decision (order_pk);

create table if not exists order_decision ( -- writer: ops; tracker handles
  decision_id uuid primary key,
  order_pk uuid not null references orders,
  decision text not null check (decision in ('ACCEPT', 'REFUSE')),
  reason text not null,
  operator text not null,
  decided_at timestamptz not null default now(),
  handled_at timestamptz,
  outcome text check (outcome in ('DONE', 'NOT_POSSIBLE')),
  check ((handled_at is null) = (outcome is null))
);
comment on column order_decision.outcome is 'NOT_POSSIBLE: the order''s state did not allow it (any more) when the tracker came to it.';
create unique index if not exists order_decision_one_open on order_decision (order_pk) where handled_at is null;
create index if not exists order_decision_open on order_decision (decided_at) where handled_at is null;
create index if not exists order_decision_order on order_decision (order_pk);

create table if not exists chain_pause ( -- writer: ops; a scanner heeds it
  chain text primary key,
  operator text not null,
  reason text not null,
  paused_at timestamptz not null default now()
);
comment on table chain_pause is 'The scanner of a paused chain reads no further; nothing of it is credited and nothing expires.';

create table if not exists operator ( -- writer: ops
  operator_id text primary key check (operator_id ~ '^[a-z0-9][a-z0-9_-]{0,31}$'),
  name text not null,
  role text not null check (role in ('VIEWER', 'SUPPORT', 'FINANCE', 'ADMIN')),
  token_hash bytea not null unique,
  created_at timestamptz not null default now(),
  disabled_at timestamptz
);

create table if not exists audit_entry ( -- writer: ops; append-only
  entry_id bigint generated always as identity primary key,
  operator text not null,
  action text not null,
  subject text,
  outcome text not null check (outcome in ('DONE', 'REFUSED')),
  details jsonb not null default '{}',
  request_id text,
  at timestamptz not null default now()
);
create index if not exists audit_entry_operator on audit_entry (operator, entry_id);
create index if not exists audit_entry_subject on audit_entry (subject, entry_id) where subject is not null;
`;

/** Columns and kinds that tables of before gain. A statement each, so that none is locked while another waits. */
export const OLDER_TABLES: readonly string[] = [
  `alter table asset_hold add column if not exists set_by text, add column if not exists released_by text,
     add column if not exists released_reason text`,
  `alter table incident add column if not exists closed_by text, add column if not exists closed_reason text,
     drop constraint if exists incident_kind_check,
     add constraint incident_kind_check check (kind in
       ('CREDITED_TRANSFER_ORPHANED', 'PAYOUT_ORPHANED', 'PAYOUT_SHORT', 'TOP_UP_ORPHANED', 'FOREIGN_NONCE'))`,
];
