import type { Address, AddressCodec } from '@opentill/chain/address-codec';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Lease } from '@opentill/db/lease';
import type { Observe } from '../observe/observe.ts';
import type { ReadClocks } from '../policy/compare-clocks.ts';
import type { SweepBounds } from '../policy/policy-port.ts';
import type { OpenSweep, SweepBooks } from './store/sweep-facts.ts';
import type { SweepStore } from './store/sweep-store.ts';
import type { SweepChain } from './sweep-chain.ts';

export interface PlannerDeps {
  readonly network: NetworkConfig;
  readonly codec: AddressCodec;
  readonly wallet: Address;
  /** undefined: the policy has no sweeps here. No sweep begins, and open ones end. */
  readonly policy: SweepBounds | undefined;
  /** Coin kept for payouts and never sent as a top-up. */
  readonly gasReserveBaseUnits: bigint;
  /** For lent or bought energy. After it the address is planned again. */
  readonly energyWaitMs: number;
  readonly store: SweepStore;
  readonly chain: SweepChain;
  readonly readClocks: ReadClocks;
  readonly isDepositAddress: (address: Address, index: number) => boolean;
  readonly observe: PlannerObserve;
  readonly onMovement: () => void;
}

export interface BeginningDeps extends PlannerDeps {
  readonly policy: SweepBounds;
}

export type PlannerObserve = Pick<Observe, 'planned' | 'stepped' | 'ordered'>;

export interface OpenStep {
  readonly deps: PlannerDeps;
  readonly lease: Lease;
  readonly sweep: OpenSweep;
  readonly books: SweepBooks;
  readonly signal: AbortSignal;
  /** `stillToCome`: the part of the day's budget that the sweep no longer needs. */
  readonly onEnded: (stillToCome: bigint) => void;
}
