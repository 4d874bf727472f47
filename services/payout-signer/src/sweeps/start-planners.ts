import { keepLease } from '@opentill/db/lease';
import type { Loop } from '@opentill/runtime/loop';
import type { Observe } from '../observe/observe.ts';
import type { PayingNetwork, SignerDeps, SignerTiming } from '../signer-deps.ts';
import { startPlanner } from './start-planner.ts';
import { sweepChainOfNonces, sweepChainOfTimes } from './sweep-chain.ts';
import { createSweepStore } from './store/sweep-store.ts';
import { createClockReader } from '../wallet/watch-clocks.ts';

/** Where nothing begins there is mostly nothing to be ended. */
const ENDING_TIMES = 6;

/** A planner for each chain, which begins sweeps where the policy has deposit addresses emptied; `onMovement` is told of chains where something began. */
export function startPlanners(
  deps: SignerDeps,
  timing: SignerTiming,
  observe: Observe,
  onMovement: () => void,
): readonly Loop[] {
  return deps.networks.flatMap((paying) => planningOf(deps, timing, observe, onMovement, paying));
}

function planningOf(
  { db, clock, newId, instanceId, logger, policy, wallets, keys, sellers }: SignerDeps,
  timing: SignerTiming,
  observe: Observe,
  onMovement: () => void,
  paying: PayingNetwork,
): readonly Loop[] {
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
    store: createSweepStore(db, chain, { newId, nativeSymbol }),
    chain:
      paying.kind === 'NONCES'
        ? sweepChainOfNonces(paying.sender)
        : sweepChainOfTimes(paying.sender, sellers?.get(chain)),
    readClocks: createClockReader(db, chain, clock),
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
