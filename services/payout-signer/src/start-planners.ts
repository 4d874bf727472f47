import { keepLease } from '@opentill/db/lease';
import type { Observe } from './observe.ts';
import type { PayingNetwork, SignerDeps, SignerTiming } from './signer-deps.ts';
import { startPlanner, type Planner } from './sweeps/start-planner.ts';
import { sweepChainOfNonces, sweepChainOfTimes } from './sweeps/sweep-chain.ts';
import { createSweepStore } from './sweeps/sweep-store.ts';

/** A planner for each chain whose policy has deposit addresses emptied; `onMovement` is told of chains where something began. */
export function startPlanners(
  deps: SignerDeps,
  timing: SignerTiming,
  observe: Observe,
  onMovement: () => void,
): readonly Planner[] {
  return deps.networks.flatMap((paying) => planningOf(deps, timing, observe, onMovement, paying));
}

function planningOf(
  { db, newId, instanceId, logger, policy, wallets, keys }: SignerDeps,
  timing: SignerTiming,
  observe: Observe,
  onMovement: () => void,
  paying: PayingNetwork,
): readonly Planner[] {
  const { network, codec, terms } = paying;
  const { chain, family, nativeSymbol } = network;
  const bounds = policy.sweepsOf(chain);
  const wallet = wallets.find((candidate) => codec.parse(candidate) === candidate);
  if (bounds === undefined || wallet === undefined) return [];
  const planner = startPlanner({
    network,
    codec,
    wallet,
    policy: bounds,
    gasReserveBaseUnits: terms.lowGasBaseUnits ?? 0n,
    store: createSweepStore(db, chain, { newId, nativeSymbol }),
    chain: paying.kind === 'NONCES' ? sweepChainOfNonces(paying.sender) : sweepChainOfTimes(paying.sender),
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
    everyMs: timing.planEveryMs,
    onError: (error, failuresInRow) => observe.planningFailed(chain, error, failuresInRow),
  });
  return [planner];
}
