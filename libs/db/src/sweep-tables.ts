import type { ColumnType, Generated, JSONColumnType } from 'kysely';
import type { Chain, Family } from '@opentill/domain/chains';
import type { LedgerAccountKind } from './ledger-tables.ts';

/** numeric(78,0): base units. */
type Amount = bigint;
type Nullable<T> = T | null;

/** What lies on a deposit address of one asset. Kept by triggers and functions alone. */
export interface DepositBalanceTable {
  chain: ColumnType<Chain, never, never>;
  address: ColumnType<string, never, never>;
  symbol: ColumnType<string, never, never>;
  family: ColumnType<Family, never, never>;
  contract_address: ColumnType<string | null, never, never>;
  order_pk: ColumnType<string, never, never>;
  received: ColumnType<Amount, never, never>;
  /** Promised to a sweep that has not ended. */
  reserved: ColumnType<Amount, never, never>;
  swept: ColumnType<Amount, never, never>;
  /** When the oldest of what lies there free may have come; what a sweep gives back is as old as it was. */
  since: ColumnType<Date, never, never>;
  /** The same of what is promised, where more has come since it was. */
  held_since: ColumnType<Date | null, never, never>;
  updated_at: ColumnType<Date, never, never>;
}

/** How the fee of a sweep is paid. */
export type SweepMethod = 'TOP_UP' | 'STAKE' | 'RENT' | 'FREE';
export type SweepState = 'OPEN' | 'DONE' | 'FAILED' | 'ABANDONED';

export interface SweepTable {
  sweep_id: string;
  chain: Chain;
  family: Family;
  /** The deposit address. */
  address: string;
  symbol: string;
  contract_address: Nullable<string>;
  amount: Amount;
  destination: string;
  destination_kind: 'COLD' | 'HOT';
  method: SweepMethod;
  /** In the native coin, when it was planned. */
  cost_estimate: Amount;
  state: Generated<SweepState>;
  reason: Nullable<string>;
  /** When energy was ordered for it. */
  rent_ordered_at: Nullable<Date>;
  /** What the seller of energy calls the order. */
  rent_ref: Nullable<string>;
  /** In the native coin. */
  rent_cost: Nullable<Amount>;
  fencing_token: Nullable<number>;
  planned_at: Generated<Date>;
  ended_at: Nullable<Date>;
  version: Generated<number>;
  updated_at: Generated<Date>;
}

/** Why the gateway moves money of its own accord. */
export type MovementKind = 'SWEEP' | 'GAS_TOP_UP' | 'DELEGATE' | 'UNDELEGATE' | 'TO_COLD' | 'REFUND';

/** A payout that no merchant asked for. Written by plan_movement() and refund_deposit() alone. */
export interface MovementTable {
  order_pk: ColumnType<string, never, never>;
  kind: ColumnType<MovementKind, never, never>;
  sweep_id: ColumnType<string | null, never, never>;
  transfer_id: ColumnType<number | null, never, never>;
  /** Between which accounts its amount walks; null of a delegation. */
  source_kind: ColumnType<LedgerAccountKind | null, never, never>;
  reserved_kind: ColumnType<LedgerAccountKind | null, never, never>;
  sent_kind: ColumnType<LedgerAccountKind | null, never, never>;
  target_kind: ColumnType<LedgerAccountKind | null, never, never>;
  planned_by: ColumnType<string | null, never, never>;
  /** Of TO_COLD, in the native coin. */
  planned_cost: ColumnType<Amount | null, never, never>;
  created_at: ColumnType<Date, never, never>;
}

export interface SweepPauseTable {
  chain: Chain;
  operator: string;
  reason: string;
  paused_at: Generated<Date>;
}

/** A sum in the native coin's base units, or of an asset in its own: decimal strings. */
export interface SweepPlanJson {
  readonly gasPrice: string | null;
  readonly budgetLeft: string;
  readonly begin: readonly {
    readonly address: string;
    readonly symbol: string;
    readonly amount: string;
    readonly method: SweepMethod;
    /** With the margin that may be signed. */
    readonly cost: string;
    /** Coin that the hot wallet brings before; absent in plans of earlier versions. */
    readonly topUp?: string;
    readonly destination: 'COLD' | 'HOT';
  }[];
  readonly toCold: readonly { readonly symbol: string; readonly amount: string; readonly cost?: string }[];
  /** How many assets wait, by the reason. */
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
  /** How many sweeps were planned for it. */
  planned: Nullable<number>;
}
