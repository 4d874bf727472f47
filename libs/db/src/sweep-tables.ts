import type { ColumnType, Generated, JSONColumnType } from 'kysely';
import type { Chain, Family } from '@opentill/domain/chains';
import type { LedgerAccountKind } from './ledger-tables.ts';

/** numeric(78,0): base units. */
type Amount = bigint;
type Nullable<T> = T | null;

/** Written only by triggers and functions. */
export interface DepositBalanceTable {
  chain: ColumnType<Chain, never, never>;
  address: ColumnType<string, never, never>;
  symbol: ColumnType<string, never, never>;
  family: ColumnType<Family, never, never>;
  contract_address: ColumnType<string | null, never, never>;
  order_pk: ColumnType<string, never, never>;
  received: ColumnType<Amount, never, never>;
  reserved: ColumnType<Amount, never, never>;
  swept: ColumnType<Amount, never, never>;
  /** Earliest arrival of the free amount. Money returned by a sweep keeps its age. */
  since: ColumnType<Date, never, never>;
  /** The same for the reserved amount if more has arrived since. */
  held_since: ColumnType<Date | null, never, never>;
  updated_at: ColumnType<Date, never, never>;
}

export type SweepMethod = 'TOP_UP' | 'STAKE' | 'RENT' | 'FREE';
export type SweepState = 'OPEN' | 'DONE' | 'FAILED' | 'ABANDONED';

export interface SweepTable {
  sweep_id: string;
  chain: Chain;
  family: Family;
  address: string;
  symbol: string;
  contract_address: Nullable<string>;
  amount: Amount;
  destination: string;
  destination_kind: 'COLD' | 'HOT';
  method: SweepMethod;
  /** Base units of the native coin, when it was planned. */
  cost_estimate: Amount;
  state: Generated<SweepState>;
  reason: Nullable<string>;
  rent_ordered_at: Nullable<Date>;
  rent_ref: Nullable<string>;
  rent_cost: Nullable<Amount>;
  fencing_token: Nullable<number>;
  planned_at: Generated<Date>;
  ended_at: Nullable<Date>;
  version: Generated<number>;
  updated_at: Generated<Date>;
}

export type MovementKind = 'SWEEP' | 'GAS_TOP_UP' | 'DELEGATE' | 'UNDELEGATE' | 'TO_COLD' | 'REFUND';

/** A payout without a merchant's request. Written only by plan_movement() and refund_deposit(). */
export interface MovementTable {
  order_pk: ColumnType<string, never, never>;
  kind: ColumnType<MovementKind, never, never>;
  sweep_id: ColumnType<string | null, never, never>;
  transfer_id: ColumnType<number | null, never, never>;
  /** Accounts that the amount passes; null for a delegation. */
  source_kind: ColumnType<LedgerAccountKind | null, never, never>;
  reserved_kind: ColumnType<LedgerAccountKind | null, never, never>;
  sent_kind: ColumnType<LedgerAccountKind | null, never, never>;
  target_kind: ColumnType<LedgerAccountKind | null, never, never>;
  planned_by: ColumnType<string | null, never, never>;
  /** TO_COLD only, in base units of the native coin. */
  planned_cost: ColumnType<Amount | null, never, never>;
  created_at: ColumnType<Date, never, never>;
}

export interface SweepPauseTable {
  chain: Chain;
  operator: string;
  reason: string;
  paused_at: Generated<Date>;
}

/** Amounts are decimal strings in base units of the asset or the native coin. */
export interface SweepPlanJson {
  readonly gasPrice: string | null;
  readonly budgetLeft: string;
  readonly begin: readonly {
    readonly address: string;
    readonly symbol: string;
    readonly amount: string;
    readonly method: SweepMethod;
    /** Includes the margin that may be signed. */
    readonly cost: string;
    /** Coin that the hot wallet sends first; absent in plans of earlier versions. */
    readonly topUp?: string;
    readonly destination: 'COLD' | 'HOT';
  }[];
  readonly toCold: readonly { readonly symbol: string; readonly amount: string; readonly cost?: string }[];
  readonly waiting: Readonly<Record<string, number>>;
}

export interface SweepPlanTable {
  chain: Chain;
  plan: JSONColumnType<SweepPlanJson, string, string>;
  planned_at: Generated<Date>;
}

export interface SweepRequestTable {
  request_id: ColumnType<number, never, never>;
  chain: Chain;
  operator: string;
  requested_at: Generated<Date>;
  handled_at: Nullable<Date>;
  planned: Nullable<number>;
}
