import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import type { PayoutMoney } from '@opentill/db/payout-tables';
import type { MovementKind, SweepMethod } from '@opentill/db/sweep-tables';
import type { BaseUnits } from '@opentill/domain/money';

/** Balance of one asset at a deposit address that is not reserved. Unverified database content. */
export interface DepositAsset {
  readonly address: Address;
  readonly depositIndex: number;
  readonly symbol: string;
  readonly contract: TokenContract | null;
  readonly amountBaseUnits: BaseUnits;
  readonly since: Date;
  readonly position: DepositPosition;
}

/** Position among all deposit balances, oldest first. */
export interface DepositPosition {
  /** Text of the database: finer than a Date, and many rows are of the same commit. */
  readonly since: string;
  readonly address: string;
  readonly symbol: string;
}

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
  /** Paid part of it; see paidForSweep. */
  readonly paidBaseUnits: bigint;
  readonly plannedAt: Date;
  readonly moves: readonly SweepMove[];
  /** Time of the energy order; null: none. */
  readonly orderedAt: Date | null;
  /** Reason why it ends without a transfer, while lent stake is taken back. */
  readonly reason: string | null;
}

/** Everything that a planning round reads of the database, at one moment. */
export interface SweepBooks {
  /** Time of the database. */
  readonly now: Date;
  readonly open: readonly OpenSweep[];
  /** Bounded; only addresses without an open sweep. */
  readonly page: DepositPage;
  /** HOT_AVAILABLE of each symbol of the chain, plus what open sweeps bring there. */
  readonly hot: ReadonlyMap<string, bigint>;
  /** Symbols with a TO_COLD that has not ended. */
  readonly goingCold: ReadonlySet<string>;
  /** Native coin in base units: fees and rents of the last 24 hours, and the rest of what is under way. */
  readonly spentLastDay: bigint;
  /** Coin that open top-ups will take from the hot wallet. */
  readonly toppingUp: bigint;
  /** Coin that top-ups of the last 24 hours brought, or will bring. */
  readonly toppedUpLastDay: bigint;
  /** Amount that energy sellers were paid in the last 24 hours, or may have been. */
  readonly rentedLastDay: bigint;
  /** Methods whose energy did not arrive recently, or is late. */
  readonly resting: ReadonlySet<SweepMethod>;
  readonly heldSymbols: ReadonlySet<string>;
  readonly stoppedBy: 'PAUSED' | 'CHAIN_HALTED' | undefined;
  /** No transaction of the chain is signed, whether sweeps are paused or not. */
  readonly isHalted: boolean;
  /** Wallets whose transactions are not signed, while those of others are. */
  readonly haltedWallets: ReadonlySet<Address>;
  readonly requests: readonly number[];
  /** Time of the newest request; null: none. */
  readonly requestedAt: Date | null;
}

/** A movement to begin. The database derives its merchant and its postings from the sweep. */
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
  /** TO_COLD: the planned fee. */
  readonly plannedCost?: bigint;
  /** Time limit. Absent: the default of its kind. */
  readonly seconds?: number;
  /** Reason why the sweep that ends with it makes no transfer. */
  readonly endsFor?: string;
}

export interface NewSweep {
  readonly address: Address;
  readonly symbol: string;
  readonly contract: TokenContract | null;
  readonly amountBaseUnits: bigint;
  readonly destination: Address;
  readonly destinationKind: 'COLD' | 'HOT';
  readonly method: SweepMethod;
  readonly costBaseUnits: bigint;
  /** undefined: it begins without a movement. */
  readonly first: Omit<NewMovement, 'sweepId'> | undefined;
}

/** A page of deposit balances, oldest first. */
export interface DepositPage {
  readonly deposits: readonly DepositAsset[];
  /** True if no balance follows. */
  readonly isLast: boolean;
}

export interface SweepMove {
  readonly kind: MovementKind;
  readonly money: PayoutMoney;
  readonly amountBaseUnits: bigint;
  /** True if it has not ended and is not signed: no transaction of it is in flight. */
  readonly isUnsigned: boolean;
  /** True if it ended without a transfer and can no longer land. */
  readonly hasEndedUnpaid: boolean;
  readonly endedAt: Date | null;
  /** Time of this process's last write: of the signature, once it is signed. */
  readonly changedAt: Date;
}

/** Energy did not arrive, or not for long enough. For a while plans pay for the address in coin. */
export const NO_ENERGY = 'energy was not there';

/** A seller rejected an order. As above. */
export const SELLER_REFUSED = 'the seller of energy refused';

/** A seller asks for more than planned, or sells no more. As above, because this may happen each time. */
export const ENERGY_DEARER = 'energy got dearer';

/** Reason not to make a payment: the chain would reject it, or its fees are above the cap. */
export type CostObstacle = 'WOULD_FAIL' | 'FEES_ABOVE_CAP';
