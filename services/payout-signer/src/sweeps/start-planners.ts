import type { Address } from '@opentill/chain/address-codec';
import type { DepositSigner } from '@opentill/chain/signer-backend';
import type { Db } from '@opentill/db/database';
import { dataFeeCapOf } from '@opentill/contracts/payout-terms';
import { keepLease, type LeaseKeeper } from '@opentill/db/lease';
import type { Chain } from '@opentill/domain/chains';
import type { Clock } from '@opentill/runtime/clock';
import type { NewId } from '@opentill/runtime/ids';
import type { Logger } from '@opentill/runtime/logger';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import type { EnergySeller } from '../energy/energy-seller.ts';
import type { Observe } from '../observe/observe.ts';
import type { PayingNetwork } from '../payouts/paying-network.ts';
import type { PolicyJudge } from '../policy/policy-port.ts';
import { startLeaseLoop } from '../wallet/lease-loop.ts';
import { createClockReader } from '../wallet/watch-clocks.ts';
import { planRound } from './plan-round.ts';
import type { PlannerDeps } from './planner-deps.ts';
import { createSweepStore } from './store/create-store.ts';
import { nonceSweepChain, expiringSweepChain } from './sweep-chain.ts';
import type { RoundMemory } from './next-page.ts';

export interface PlannersDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly logger: Logger;
  readonly networks: readonly PayingNetwork[];
  readonly wallets: readonly Address[];
  readonly keys: Pick<DepositSigner, 'admitDeposit'>;
  readonly policy: Pick<PolicyJudge, 'sweepsOf'>;
  readonly sellers?: ReadonlyMap<Chain, EnergySeller>;
  readonly instanceId: string;
  readonly observe: Observe;
  readonly timing: PlanTiming;
  readonly onMovement: () => void;
}

export interface PlanTiming {
  readonly planEveryMs: number;
  readonly energyWaitMs: number;
  readonly leaseTtlMs: number;
}

/** Factor of the interval where no sweep begins: mostly no open one is left to end. */
const ENDING_TIMES = 6;

export function startPlanners(deps: PlannersDeps): readonly Loop[] {
  return deps.networks.flatMap((paying) => planningOf(deps, paying));
}

function planningOf(deps: PlannersDeps, paying: PayingNetwork): readonly Loop[] {
  const { db, clock, newId, instanceId, logger, policy, wallets, keys, sellers } = deps;
  const { timing, observe, onMovement } = deps;
  const { network, codec, terms } = paying;
  const { chain, family, nativeSymbol } = network;
  const bounds = policy.sweepsOf(chain);
  const wallet = wallets.find((candidate) => codec.parse(candidate) === candidate);
  if (wallet === undefined) return [];
  const planner = startPlanner({
    network,
    codec,
    wallet,
    policy: bounds,
    energyWaitMs: timing.energyWaitMs,
    gasReserveBaseUnits: terms.lowGasBaseUnits ?? 0n,
    store: createSweepStore(db, chain, { newId, nativeSymbol, dataFeeCap: dataFeeCapOf(network) }),
    chain:
      paying.kind === 'NONCES'
        ? nonceSweepChain(paying.sender)
        : expiringSweepChain(paying.sender, sellers?.get(chain)),
    readClocks: createClockReader(db, network, clock),
    isDepositAddress: (address, index) => keys.admitDeposit(family, index, address),
    observe,
    onMovement,
    leaseKeeper: keepLease({
      db,
      schema: 'signer',
      name: `sweeps/${chain}`,
      holder: instanceId,
      ttlMs: timing.leaseTtlMs,
      logger,
    }),
    leaseIntervalMs: timing.leaseTtlMs / 3,
    everyMs: bounds === undefined ? ENDING_TIMES * timing.planEveryMs : timing.planEveryMs,
    onError: (error, failuresInRow) => observe.planningFailed(chain, error, failuresInRow),
  });
  return [planner];
}

export interface PlanningDeps extends PlannerDeps {
  /** Lease `sweeps/<chain>`: one replica plans. */
  readonly leaseKeeper: LeaseKeeper;
  readonly leaseIntervalMs: number;
  readonly everyMs: number;
  readonly onError: (error: unknown, failuresInRow: number) => void;
}

const MAX_BACKOFF_MS = 60_000;

/** Plans while this replica holds the lease; else asks for it. `wake` starts a round at once. */
function startPlanner(deps: PlanningDeps): Loop {
  const { leaseKeeper } = deps;
  const memory: RoundMemory = { after: undefined };
  const name = `sweeps ${deps.network.chain}`;
  const work = startLoop({
    name,
    intervalMs: deps.everyMs,
    maxBackoffMs: Math.max(deps.everyMs, MAX_BACKOFF_MS),
    run: async (signal) => {
      const lease = leaseKeeper.current();
      return lease === undefined ? undefined : planRound(deps, memory, lease, signal);
    },
    onError: deps.onError,
  });
  return startLeaseLoop({ ...deps, name, maxBackoffMs: MAX_BACKOFF_MS, work });
}
