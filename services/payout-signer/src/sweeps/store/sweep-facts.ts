import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import type { PayoutMoney } from '@opentill/db/payout-tables';
import type { MovementKind, SweepMethod } from '@opentill/db/sweep-tables';
import type { BaseUnits } from '@opentill/domain/money';

/** What lies on a deposit address of one asset and is promised to nothing. The database's word. */
export interface LyingAsset {
  readonly address: Address;
  readonly depositIndex: number;
  readonly symbol: string;
  readonly contract: TokenContract | null;
  readonly amountBaseUnits: BaseUnits;
  readonly since: Date;
  readonly position: LyingPosition;
}

/** Its place among all that lies there, oldest first. */
export interface LyingPosition {
  /** As the database writes it: finer than a Date, and many are of the same commit. */
  readonly since: string;
  readonly address: string;
  readonly symbol: string;
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
  /** What it has paid of that: see paidForSweep. */
  readonly paidBaseUnits: bigint;
  readonly plannedAt: Date;
  readonly moves: readonly SweepMove[];
  /** When energy was ordered for it; null: never. */
  readonly orderedAt: Date | null;
  /** Why it comes to nothing, while what was lent for it is taken back. */
  readonly reason: string | null;
}

/** Everything that a round of planning reads of the database, in one look. */
export interface SweepBooks {
  /** By the database's clock. */
  readonly now: Date;
  readonly open: readonly OpenSweep[];
  /** Bounded; of addresses without an open sweep. */
  readonly page: LyingPage;
  /** HOT_AVAILABLE of each symbol of the chain, and what is on its way there by sweeps. */
  readonly hot: ReadonlyMap<string, bigint>;
  /** Symbols with a TO_COLD that has not ended. */
  readonly goingCold: ReadonlySet<string>;
  /** Native coin in base units: fees and rents of the last 24 hours, and what is still to come of what is under way. */
  readonly spentLastDay: bigint;
  /** What top-ups that have not ended will take from the hot wallet. */
  readonly toppingUp: bigint;
  /** What top-ups of the last 24 hours brought, or will. */
  readonly toppedUpLastDay: bigint;
  /** What sellers of energy were paid in the last 24 hours, or may have been. */
  readonly rentedLastDay: bigint;
  /** Ways in which energy was waited for in vain lately, or is. */
  readonly resting: ReadonlySet<SweepMethod>;
  readonly heldSymbols: ReadonlySet<string>;
  readonly stoppedBy: 'PAUSED' | 'CHAIN_HALTED' | undefined;
  /** Nothing of the chain is signed, paused or not. */
  readonly isHalted: boolean;
  /** Wallets of which nothing is signed, though others' is. */
  readonly haltedWallets: ReadonlySet<Address>;
  /** Operators' requests that nobody has handled. */
  readonly requests: readonly number[];
  /** When the newest of them was made; null where there is none. */
  readonly requestedAt: Date | null;
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
  /** Of TO_COLD: the fee that was planned. */
  readonly plannedCost?: bigint;
  /** How long it may be tried. Absent: as long as its kind may. */
  readonly seconds?: number;
  /** Why the sweep that ends with it comes to nothing. */
  readonly endsFor?: string;
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
  /** Undefined: it begins with none. */
  readonly first: Omit<NewMovement, 'sweepId'> | undefined;
}

/** A look at what lies there: oldest first. */
export interface LyingPage {
  readonly lying: readonly LyingAsset[];
  /** Whether nothing lies behind it. */
  readonly isLast: boolean;
}

/** A movement of a sweep, oldest first. */
export interface SweepMove {
  readonly kind: MovementKind;
  readonly money: PayoutMoney;
  readonly amountBaseUnits: bigint;
  /** Whether it has not ended, and nobody has signed it: nothing of it is on its way. */
  readonly isUnsigned: boolean;
  /** Whether it ended without anything having moved, and nothing of it can move any more. */
  readonly hasEndedUnpaid: boolean;
  readonly endedAt: Date | null;
  /** When this process wrote of it last: when it was signed, once it was. */
  readonly changedAt: Date;
}

/** Energy did not come, or not for long enough. Whoever plans the address anew pays for it in coin for a while. */
export const NO_ENERGY = 'energy was not there';

/** A seller took an order back. As above. */
export const SELLER_REFUSED = 'the seller of energy refused';

/** A seller asks for more than when the sweep was planned, or sells nothing any more. As above: he may do so each time. */
export const ENERGY_DEARER = 'energy got dearer';

/** Why a payment is not to be paid: the chain would refuse it, or its fees are above the cap. */
export type CostObstacle = 'WOULD_FAIL' | 'FEES_ABOVE_CAP';
