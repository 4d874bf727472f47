import type { Address, AddressCodec } from '@opentill/chain/address-codec';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Lease } from '@opentill/db/lease';
import type { Observe } from '../observe/observe.ts';
import type { ReadClocks } from '../policy/compare-clocks.ts';
import type { SweepBounds } from '../policy/policy-port.ts';
import type { OpenSweep, SweepBooks } from './store/sweep-facts.ts';
import type { SweepStore } from './store/sweep-store.ts';
import type { SweepChain } from './sweep-chain.ts';

/** What the planner of one chain works with. */
export interface PlannerDeps {
  readonly network: NetworkConfig;
  readonly codec: AddressCodec;
  /** The hot wallet that pays fees and is refilled. */
  readonly wallet: Address;
  /** Undefined: the policy sweeps nothing here, or no more. Then nothing begins, and what has begun is ended. */
  readonly policy: SweepBounds | undefined;
  /** Coin that is kept for payouts and never sent as a top-up, base units. */
  readonly gasReserveBaseUnits: bigint;
  /** So long lent or bought energy is waited for; then the address is planned anew. */
  readonly energyWaitMs: number;
  readonly store: SweepStore;
  readonly chain: SweepChain;
  /** The bounds per day follow the database's clock. */
  readonly readClocks: ReadClocks;
  /** Whether this is deposit address `index`, by this process's own derivation. */
  readonly isDepositAddress: (address: Address, index: number) => boolean;
  readonly observe: PlannerObserve;
  /** Movements have begun: whoever drives them may look. */
  readonly onMovement: () => void;
}

/** What a planner begins sweeps with. */
export interface BeginningDeps extends PlannerDeps {
  readonly policy: SweepBounds;
}

export type PlannerObserve = Pick<Observe, 'planned' | 'stepped' | 'ordered'>;

/** One open sweep in a round. */
export interface OpenStep {
  readonly deps: PlannerDeps;
  readonly lease: Lease;
  readonly sweep: OpenSweep;
  readonly books: SweepBooks;
  readonly signal: AbortSignal;
  /** It has ended: so much of the day's budget is not to come any more. */
  readonly onEnded: (stillToCome: bigint) => void;
}
