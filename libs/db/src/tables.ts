import type { ColumnType, Generated, GeneratedAlways, JSONColumnType } from 'kysely';
import type { Chain, Family } from '@opentill/domain/chains';
import type { NotifyType, OrderStatus, OrderType } from '@opentill/contracts/notify-order';
import type { CallbackEndpointTable, DeliveryAttemptTable, DeliveryTable } from './delivery-tables.ts';
import type { LedgerAccountTable, LedgerPostingTable, LedgerTransactionTable } from './ledger-tables.ts';
import type {
  AuditEntryTable,
  ChainPauseTable,
  HotWalletBalanceTable,
  HotWalletTable,
  OperatorTable,
  OrderDecisionTable,
  PayoutDecisionTable,
  OwnTransactionFateTable,
  OwnTransactionSettlementTable,
  OwnTransactionTable,
  PayoutAttemptTable,
  PayoutApprovalTable,
  PayoutTable,
  PayoutVetoTable,
  WalletHaltTable,
  WalletNonceTable,
} from './payout-tables.ts';
import type { MerchantTable, RateCounterTable, RequestNonceTable } from './merchant-tables.ts';
import type { ServiceSchema } from './service-schema.ts';
import type {
  DepositBalanceTable,
  MovementTable,
  SweepPauseTable,
  SweepPlanTable,
  SweepRequestTable,
  SweepTable,
} from './sweep-tables.ts';

/** numeric(78,0): base units. */
type Amount = bigint;
/** Few writers set it. */
type Defaulted<T> = Generated<T>;
type Nullable<T> = T | null;
type Identity = ColumnType<number, never, never>;
type Jsonb<T extends object> = JSONColumnType<T, string | undefined, string>;

export interface OrdersTable {
  order_pk: string;
  merchant_id: string;
  order_id: string;
  order_type: OrderType;
  uid: Nullable<string>;
  status: Defaulted<OrderStatus>;
  reason: Nullable<string>;
  chain: Chain;
  family: Family;
  symbol: string;
  contract_address: Nullable<string>;
  decimals: number;
  display_decimals: number;
  amount: Amount;
  accepted_amount: Amount;
  detected_amount: Defaulted<Amount>;
  actual_amount: Nullable<Amount>;
  /** Null until the customer has chosen one of several coins. */
  address: Nullable<string>;
  source_address: Nullable<string>;
  confirmations_required: Nullable<number>;
  late_grace_seconds: Defaulted<number>;
  return_url: Nullable<string>;
  description: Nullable<string>;
  signed_data_hash: Nullable<Buffer>;
  traceparent: Nullable<string>;
  version: Defaulted<number>;
  currency: Nullable<string>;
  price: Nullable<string>;
  rate: Nullable<string>;
  rate_id: Nullable<string>;
  markup_bps: Nullable<number>;
  choices: Nullable<number>;
  link_id: Nullable<string>;
  created_at: Date;
  expires_at: Date;
  cutoff_at: GeneratedAlways<Date>;
  late_callback_at: Nullable<Date>;
  late_callback_due_at: Nullable<Date>;
  unmatched_callback_at: Nullable<Date>;
  unmatched_callback_due_at: Nullable<Date>;
  updated_at: Defaulted<Date>;
}

export interface OrderOptionTable {
  order_pk: string;
  place: number;
  chain: Chain;
  family: Family;
  symbol: string;
  contract_address: Nullable<string>;
  decimals: number;
  display_decimals: number;
  amount: Amount;
  confirmations_required: Nullable<number>;
  currency: string;
  rate: string;
  rate_id: string;
  chosen_at: Nullable<Date>;
}

export interface DepositAddressTable {
  family: Family;
  address: string;
  derivation_index: number;
  order_pk: string;
  created_at: Defaulted<Date>;
}

export interface NotificationTable {
  event_id: string;
  merchant_id: string;
  subject_id: string;
  sequence: number;
  notify_type: NotifyType;
  data: string;
  traceparent: Nullable<string>;
  occurred_at: Date;
  /** By the database's clock. */
  created_at: Generated<Date>;
}

export interface ChainCursorTable {
  chain: Chain;
  family: Family;
  head_height: number;
  head_hash: string;
  head_time: Date;
  finalized_height: Nullable<number>;
  seen_height: number;
  seen_hash: string;
  verified_height: number;
  verified_hash: string;
  verified_time: Date;
  /** Null on chains without epochs. */
  verified_epoch: Nullable<number>;
  proven_after_height: Nullable<number>;
  proven_height: Nullable<number>;
  fencing_token: number;
  updated_at: Defaulted<Date>;
}

export interface BlockTable {
  chain: Chain;
  height: number;
  hash: string;
  parent_hash: string;
  block_time: Date;
}

export type TransferState = 'DETECTED' | 'VERIFIED' | 'ORPHANED';

export interface TransferTable {
  transfer_id: Identity;
  chain: Chain;
  family: Family;
  tx_hash: string;
  position: string;
  contract_address: Nullable<string>;
  symbol: string;
  from_address: string;
  to_address: string;
  amount: Amount;
  network_fee: Nullable<Amount>;
  block_height: number;
  block_hash: string;
  block_time: Date;
  first_block_time: Date;
  state: TransferState;
  version: Defaulted<number>;
  detected_at: Defaulted<Date>;
  verified_at: Nullable<Date>;
  updated_at: Defaulted<Date>;
}

export interface RescanRequestTable {
  request_id: Identity;
  chain: Chain;
  from_height: number;
  to_height: number;
  requested_at: Defaulted<Date>;
  done_at: Nullable<Date>;
  found: Nullable<number>;
  next_height: Nullable<number>;
}

export interface TransferSettlementTable {
  transfer_id: number;
  settled_version: number;
  order_pk: Nullable<string>;
  booked_amount: Nullable<Amount>;
  booked_symbol: Nullable<string>;
  /** Generated: booked_amount is set. */
  booked: ColumnType<boolean, never, never>;
  bookings: Defaulted<number>;
  credited: Defaulted<boolean>;
  updated_at: Defaulted<Date>;
}

export type UnmatchedReason =
  'WRONG_TOKEN' | 'WRONG_CHAIN' | 'LATE' | 'UNDERPAID' | 'AFTER_SUCCESS' | 'ORDER_FAILED';

export interface UnmatchedDepositTable {
  transfer_id: number;
  merchant_id: string;
  order_pk: string;
  reason: UnmatchedReason;
  withdrawn: Defaulted<boolean>;
  dust: Defaulted<boolean>;
  reported: Defaulted<boolean>;
  created_at: Defaulted<Date>;
  updated_at: Defaulted<Date>;
}

export type IncidentKind =
  | 'CREDITED_TRANSFER_ORPHANED'
  | 'PAYOUT_ORPHANED'
  | 'PAYOUT_SHORT'
  | 'TOP_UP_ORPHANED'
  /** A foreign transaction used a nonce of a hot wallet. Opens and closes with its halt. */
  | 'FOREIGN_NONCE'
  /** A hot wallet sent transactions that this database lacks. Opens and closes with its halt. */
  | 'RESTORED';

export interface IncidentTable {
  incident_id: string;
  kind: IncidentKind;
  chain: Chain;
  symbol: Nullable<string>;
  order_pk: Nullable<string>;
  transfer_id: Nullable<number>;
  details: Jsonb<Record<string, unknown>>;
  opened_at: Date;
  closed_at: Nullable<Date>;
  closed_by: Nullable<string>;
  closed_reason: Nullable<string>;
}

export interface AssetHoldTable {
  hold_id: string;
  chain: Chain;
  symbol: string;
  incident_id: Nullable<string>;
  reason: string;
  set_at: Date;
  set_by: Nullable<string>;
  released_at: Nullable<Date>;
  released_by: Nullable<string>;
  released_reason: Nullable<string>;
}

export interface OutboxTable {
  id: Identity;
  event_id: string;
  routing_key: string;
  payload: string;
  created_at: Defaulted<Date>;
}

export interface InboxTable {
  consumer: string;
  event_id: string;
  received_at: Defaulted<Date>;
}

export interface LeaseTable {
  name: string;
  holder: string;
  fencing_token: number;
  expires_at: Date;
}

type ServiceTables = { [S in ServiceSchema as `${S}.outbox`]: OutboxTable } & {
  [S in ServiceSchema as `${S}.inbox`]: InboxTable;
} & { [S in ServiceSchema as `${S}.lease`]: LeaseTable };

/** The grants of the migrations define which role may write which. */
export interface Tables extends ServiceTables {
  merchant: MerchantTable;
  request_nonce: RequestNonceTable;
  rate_counter: RateCounterTable;
  orders: OrdersTable;
  order_option: OrderOptionTable;
  deposit_address: DepositAddressTable;
  notification: NotificationTable;
  chain_cursor: ChainCursorTable;
  block: BlockTable;
  transfer: TransferTable;
  rescan_request: RescanRequestTable;
  transfer_settlement: TransferSettlementTable;
  unmatched_deposit: UnmatchedDepositTable;
  incident: IncidentTable;
  asset_hold: AssetHoldTable;
  ledger_account: LedgerAccountTable;
  ledger_transaction: LedgerTransactionTable;
  ledger_posting: LedgerPostingTable;
  delivery: DeliveryTable;
  delivery_attempt: DeliveryAttemptTable;
  callback_endpoint: CallbackEndpointTable;
  hot_wallet: HotWalletTable;
  payout: PayoutTable;
  wallet_nonce: WalletNonceTable;
  own_transaction: OwnTransactionTable;
  own_transaction_fate: OwnTransactionFateTable;
  payout_attempt: PayoutAttemptTable;
  own_transaction_settlement: OwnTransactionSettlementTable;
  hot_wallet_balance: HotWalletBalanceTable;
  wallet_halt: WalletHaltTable;
  deposit_balance: DepositBalanceTable;
  sweep: SweepTable;
  movement: MovementTable;
  sweep_pause: SweepPauseTable;
  sweep_plan: SweepPlanTable;
  sweep_request: SweepRequestTable;
  payout_approval: PayoutApprovalTable;
  payout_veto: PayoutVetoTable;
  order_decision: OrderDecisionTable;
  payout_decision: PayoutDecisionTable;
  chain_pause: ChainPauseTable;
  operator: OperatorTable;
  audit_entry: AuditEntryTable;
}
