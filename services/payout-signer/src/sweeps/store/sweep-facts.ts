import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import type { PayoutMoney } from '@opentill/db/payout-tables';
import type { MovementKind, SweepMethod } from '@opentill/db/sweep-tables';
import type { BaseUnits } from '@opentill/domain/money';

/** Not reserved. Unverified database content. */
export interface DepositAsset {
  readonly address: Address;
  readonly depositIndex: number;
  readonly symbol: string;
  readonly contract: TokenContract | null;
  readonly amountBaseUnits: BaseUnits;
  readonly since: Date;
  readonly position: DepositPosition;
}

/** Among all deposit balances, oldest first. */
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
  readonly paidBaseUnits: bigint;
  readonly plannedAt: Date;
  readonly moves: readonly SweepMove[];
  readonly orderedAt: Date | null;
  /** Why it ends without a transfer, while lent stake is taken back. */
  readonly reason: string | null;
}

export interface SweepBooks {
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
  /** Coin that top-ups brought, or will bring. */
  readonly toppedUpLastDay: bigint;
  /** Includes orders whose outcome is unknown. */
  readonly rentedLastDay: bigint;
  /** Methods that sweeps must not use now; see suspended-methods.ts. */
  readonly suspendedMethods: ReadonlySet<SweepMethod>;
  readonly heldSymbols: ReadonlySet<string>;
  readonly stopReason: 'PAUSED' | 'CHAIN_HALTED' | undefined;
  /** No transaction of the chain is signed, whether sweeps are paused or not. */
  readonly isHalted: boolean;
  readonly haltedWallets: ReadonlySet<Address>;
  readonly requests: readonly number[];
  readonly requestedAt: Date | null;
}

/** The database derives the merchant and the postings from the sweep. */
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
  readonly plannedCost?: bigint;
  readonly seconds?: number;
  /** Why the sweep that ends with it makes no transfer. */
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
  readonly first: Omit<NewMovement, 'sweepId'> | undefined;
}

export interface DepositPage {
  readonly deposits: readonly DepositAsset[];
  readonly isLast: boolean;
}

export interface SweepMove {
  readonly kind: MovementKind;
  readonly money: PayoutMoney;
  readonly amountBaseUnits: bigint;
  /** No transaction of it is in flight. */
  readonly isUnsigned: boolean;
  readonly hasEndedUnpaid: boolean;
  readonly endedAt: Date | null;
  /** Of this process's last write: of the signature, once it is signed. */
  readonly changedAt: Date;
}

/** After this reason and the next two, plans pay for the address in coin for a while. */
export const NO_ENERGY = 'energy was not there';

export const SELLER_REFUSED = 'the seller of energy refused';

export const ENERGY_DEARER = 'energy got dearer';

export type CostObstacle = 'WOULD_FAIL' | 'FEES_ABOVE_CAP';
