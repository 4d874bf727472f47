import type { Address, AddressCodec } from '@opentill/chain/address-codec';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { SweepPlan } from '@opentill/domain/plan-sweeps';
import type { OrderOutcome } from '../energy/energy-seller.ts';
import type { SweepBounds } from '../policy/policy-port.ts';
import type { ReadClocks } from '../wallet/watch-clocks.ts';
import type { SweepChain } from './sweep-chain.ts';
import type { SweepStore } from './store/sweep-store.ts';

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

export interface PlannerObserve {
  /** What a round made of what lies there. */
  planned(chain: string, plan: SweepPlan): void;
  /** A sweep's next movement, or its end. */
  stepped(chain: string, sweepId: string, what: string): void;
  /** A seller of energy was asked for some. */
  ordered(chain: string, sweepId: string, seller: string, priceSun: bigint, outcome: OrderOutcome): void;
}
