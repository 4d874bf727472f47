import type { ColumnType, Generated, JSONColumnType } from 'kysely';
import type { Chain, Family } from '@opentill/domain/chains';
import type { FateState, SigningState } from '@opentill/domain/settle-payout';

/** numeric(78,0): base units. */
type Amount = bigint;
type Nullable<T> = T | null;
type Identity = ColumnType<number, never, never>;

export interface HotWalletTable {
  family: Family;
  address: string;
  label: Generated<string>;
  added_at: Generated<Date>;
}

/** Where the ledger books a payout's amount. */
export type PayoutMoney = 'RESERVED' | 'IN_FLIGHT' | 'PAID_OUT' | 'RETURNED' | 'RELEASED';

export interface PayoutTable {
  order_pk: string;
  chain: Chain;
  wallet: string;
  /** REFUSED and EXPIRED are final. SIGNED never expires; it returns to AUTHORISED when all its attempts are DEAD. */
  state: Generated<SigningState>;
  requested_at: Generated<Date>;
  expires_at: Date;
  waiting_since: Nullable<Date>;
  authorised_at: Nullable<Date>;
  first_sent_at: Nullable<Date>;
  reason: Nullable<string>;
  obstacle: Nullable<string>;
  obstacle_at: Nullable<Date>;
  money: ColumnType<PayoutMoney, never, never>;
  money_round: ColumnType<number, never, never>;
  fencing_token: Nullable<number>;
  version: Generated<number>;
  updated_at: Generated<Date>;
}

export interface WalletNonceTable {
  chain: Chain;
  wallet: string;
  nonce: number;
  state: 'RESERVED' | 'SIGNED' | 'FINAL' | 'TAKEN';
  order_pk: Nullable<string>;
  purpose: Generated<'PAYOUT' | 'CANCEL'>;
  updated_at: Generated<Date>;
}

/** Fee limits of a signed transaction: decimal strings in base units of the native coin. */
export type FeeTermsJson =
  | { gasLimit: string; maxFeePerGas: string; maxPriorityFeePerGas: string; dataFee?: string }
  | { feeLimit: string; lastEpoch?: number };

export interface OwnTransactionTable {
  chain: Chain;
  tx_hash: string;
  family: Family;
  wallet: string;
  nonce: Nullable<number>;
  purpose: 'PAYOUT' | 'CANCEL' | 'GATHER';
  order_pk: Nullable<string>;
  contract_address: Nullable<string>;
  /** Also the receiver of a token transfer. */
  to_address: string;
  amount: Amount;
  /** Readable only by the signer. */
  raw: Buffer;
  fee_terms: JSONColumnType<FeeTermsJson, string, never>;
  signed_at: Date;
  first_sent_at: Nullable<Date>;
  last_sent_at: Nullable<Date>;
  send_outcome: Nullable<string>;
}

/** Expires by time, not by nonce. */
export interface PayoutAttemptTable {
  chain: Chain;
  tx_hash: string;
  wallet: string;
  order_pk: string;
  state: ColumnType<'OPEN' | 'SETTLED' | 'DEAD', never, 'OPEN' | 'SETTLED' | 'DEAD'>;
  unique_ms: number;
  /** Milliseconds of the chain's own time. */
  expires_ms: number;
  reference_height: number;
  reference_hash: string;
  /** Only on chains whose transactions end by epoch. */
  first_epoch: Nullable<number>;
  last_epoch: Nullable<number>;
  dead_height: ColumnType<number | null, never, number>;
  dead_hash: ColumnType<string | null, never, string>;
  updated_at: Generated<Date>;
}

export interface OwnTransactionFateTable {
  chain: Chain;
  tx_hash: string;
  family: Family;
  block_height: Nullable<number>;
  block_hash: Nullable<string>;
  block_time: Nullable<Date>;
  state: FateState;
  succeeded: boolean;
  delivered: Amount;
  network_fee: Amount;
  version: Generated<number>;
  updated_at: Generated<Date>;
}

export interface OwnTransactionSettlementTable {
  chain: ColumnType<Chain, never, never>;
  tx_hash: ColumnType<string, never, never>;
  settled_version: ColumnType<number, never, never>;
  booked_fee: ColumnType<Amount | null, never, never>;
  booked_symbol: ColumnType<string | null, never, never>;
  bookings: ColumnType<number, never, never>;
  updated_at: ColumnType<Date, never, never>;
}

export interface HotWalletBalanceTable {
  chain: Chain;
  wallet: string;
  symbol: string;
  contract_address: Nullable<string>;
  amount: Amount;
  block_height: number;
  block_hash: string;
  seen_at: Date;
}

export interface WalletHaltTable {
  halt_id: string;
  chain: Chain;
  /** Null: every wallet of the chain. */
  wallet: Nullable<string>;
  kind: 'OPERATOR' | 'FOREIGN_NONCE' | 'RESTORED';
  /** RESTORED only: highest nonce known to be used. */
  mark: Nullable<number>;
  reason: string;
  set_by: Nullable<string>;
  set_at: Generated<Date>;
  released_at: Nullable<Date>;
  released_by: Nullable<string>;
  released_reason: Nullable<string>;
}

export interface PayoutApprovalTable {
  order_pk: string;
  /** Ed25519 public key in lower-case hex. */
  approver: string;
  signature: Buffer;
  approved_at: Generated<Date>;
}

export interface PayoutVetoTable {
  order_pk: string;
  operator: string;
  reason: string;
  vetoed_at: Generated<Date>;
}

export interface PayoutDecisionTable {
  decision_id: string;
  order_pk: string;
  /** PAY_AGAIN only: the TAKEN nonce. */
  nonce: Nullable<number>;
  decision: 'PAY_AGAIN' | 'PAID_BY';
  tx_hash: Nullable<string>;
  reason: string;
  operator: string;
  decided_at: Generated<Date>;
  handled_at: Nullable<Date>;
  outcome: Nullable<'DONE' | 'NOT_POSSIBLE'>;
  detail: Nullable<string>;
  /** PAY_AGAIN only: the expired attempt that the operator declares not landed. */
  unproven_tx_hash: Nullable<string>;
}

export interface OrderDecisionTable {
  decision_id: string;
  order_pk: string;
  decision: 'ACCEPT' | 'REFUSE';
  reason: string;
  operator: string;
  decided_at: Generated<Date>;
  handled_at: Nullable<Date>;
  outcome: Nullable<'DONE' | 'NOT_POSSIBLE'>;
  /** Set when the operator accepts a transfer that the order did not ask for, with its worth. */
  transfer_id: Nullable<number>;
  transfer_symbol: Nullable<string>;
  transfer_amount: Nullable<bigint>;
  worth: Nullable<bigint>;
}

export interface ChainPauseTable {
  chain: Chain;
  operator: string;
  reason: string;
  paused_at: Generated<Date>;
}

export type OperatorRole = 'VIEWER' | 'SUPPORT' | 'FINANCE' | 'ADMIN';

export interface OperatorTable {
  operator_id: string;
  name: string;
  role: OperatorRole;
  token_hash: Buffer;
  created_at: Generated<Date>;
  disabled_at: Nullable<Date>;
}

export interface AuditEntryTable {
  entry_id: Identity;
  operator: string;
  action: string;
  subject: Nullable<string>;
  outcome: 'DONE' | 'REFUSED';
  details: JSONColumnType<Record<string, unknown>, string | undefined, never>;
  request_id: Nullable<string>;
  at: ColumnType<Date, never, never>;
}
