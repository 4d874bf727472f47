import type { ColumnType, Generated } from 'kysely';
import type { Chain } from '@opentill/domain/chains';

/** numeric(78,0): base units. */
type Amount = bigint;
type Defaulted<T> = Generated<T>;
type Nullable<T> = T | null;
type Identity = ColumnType<number, never, never>;

export type LedgerAccountKind =
  | 'DEPOSIT'
  | 'DEPOSIT_RESERVED'
  | 'DEPOSIT_SENT'
  | 'DEPOSIT_GAS'
  | 'SUSPENSE'
  | 'MERCHANT'
  | 'HOT_AVAILABLE'
  | 'HOT_RESERVED'
  | 'IN_FLIGHT'
  | 'PAID_OUT'
  | 'REFUNDED'
  | 'HOT_GAS'
  | 'NETWORK_FEE'
  | 'COLD'
  | 'OWNER';

export interface LedgerAccountTable {
  account_id: Identity;
  kind: LedgerAccountKind;
  chain: Chain;
  symbol: string;
  merchant_id: Nullable<string>;
  balance: ColumnType<Amount, never, never>;
}

export type LedgerTransactionKind =
  | 'DEPOSIT'
  | 'DEPOSIT_REVERSED'
  | 'CREDIT'
  | 'CREDIT_REVERSED'
  | 'RESERVE'
  | 'RELEASE'
  | 'PAYOUT_SENT'
  | 'PAYOUT'
  | 'PAYOUT_REVERSED'
  | 'PAYOUT_RETURNED'
  | 'PAYOUT_RETURN_REVERSED'
  | 'NETWORK_FEE'
  | 'NETWORK_FEE_REVERSED'
  | 'TOP_UP'
  | 'GAS_TOP_UP'
  | 'TOP_UP_REVERSED';

export interface LedgerTransactionTable {
  ledger_tx_id: Identity;
  ref: string;
  kind: LedgerTransactionKind;
  order_pk: Nullable<string>;
  created_at: Defaulted<Date>;
  /** Set by its default: only the same database transaction may add postings. */
  written_by: ColumnType<string, never, never>;
}

export interface LedgerPostingTable {
  ledger_tx_id: number;
  account_id: number;
  /** Positive: debit. Negative: credit. */
  amount: Amount;
}
