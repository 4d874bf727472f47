import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import type { SweepMethod } from '@opentill/db/sweep-tables';
import type { BaseUnits } from '@opentill/domain/money';
import type { SweepMove } from './next-step.ts';

/** What lies on a deposit address of one asset and is promised to nothing. The database's word. */
export interface LyingAsset {
  readonly address: Address;
  readonly depositIndex: number;
  readonly symbol: string;
  readonly contract: TokenContract | null;
  readonly amountBaseUnits: BaseUnits;
  readonly since: Date;
}

/** A sweep that has not ended, with its movements. */
export interface OpenSweep {
  readonly sweepId: string;
  readonly address: Address;
  readonly depositIndex: number;
  readonly symbol: string;
  readonly contract: TokenContract | null;
  readonly amountBaseUnits: BaseUnits;
  readonly destination: Address;
  readonly destinationKind: 'COLD' | 'HOT';
  readonly method: SweepMethod;
  readonly costBaseUnits: bigint;
  readonly moves: readonly SweepMove[];
}

/** Everything that a round of planning reads of the database, in one look. */
export interface SweepBooks {
  /** By the database's clock. */
  readonly now: Date;
  readonly open: readonly OpenSweep[];
  /** Oldest first, bounded; of addresses without an open sweep. */
  readonly lying: readonly LyingAsset[];
  /** HOT_AVAILABLE of each symbol of the chain, and what is on its way there by sweeps. */
  readonly hot: ReadonlyMap<string, bigint>;
  /** Symbols with a TO_COLD that has not ended. */
  readonly goingCold: ReadonlySet<string>;
  /** Native coin in base units: fees, top-ups and rents of the last 24 hours, also what is on its way. */
  readonly spentLastDay: bigint;
  /** What top-ups that have not ended will take from the hot wallet. */
  readonly toppingUp: bigint;
  /** What top-ups of the last 24 hours brought, or will. */
  readonly toppedUpLastDay: bigint;
  readonly heldSymbols: ReadonlySet<string>;
  readonly stoppedBy: 'PAUSED' | 'CHAIN_HALTED' | undefined;
  /** Operators' requests that nobody has handled. */
  readonly requests: readonly number[];
}

/** A movement to begin; whose it is and what it books the database knows by its sweep. */
export interface NewMovement {
  readonly kind: 'SWEEP' | 'GAS_TOP_UP' | 'DELEGATE' | 'UNDELEGATE' | 'TO_COLD';
  readonly sweepId: string | null;
  readonly symbol: string;
  readonly contract: TokenContract | null;
  readonly decimals: number;
  readonly displayDecimals: number;
  readonly amountBaseUnits: bigint;
  readonly wallet: Address;
  readonly receiver: Address;
}

/** A sweep to begin, with its first movement. */
export interface NewSweep {
  readonly address: Address;
  readonly symbol: string;
  readonly contract: TokenContract | null;
  readonly amountBaseUnits: bigint;
  readonly destination: Address;
  readonly destinationKind: 'COLD' | 'HOT';
  readonly method: SweepMethod;
  readonly costBaseUnits: bigint;
  readonly first: Omit<NewMovement, 'sweepId'>;
}
