import type { ContractEnergy } from '../state/records.ts';
import type { State } from '../state/state.ts';
import type { Execution } from './execution.ts';
import type { ChainParameters } from './parameters.ts';

const PRECISION = 10_000;
/** A factor decreases four times more slowly than it increases. */
const DECREASE_DIVISION = 4;

/** Maintenance cycle of a time, starting at 1. */
export function cycleOf(timestampMs: number, genesisTimeMs: number, parameters: ChainParameters): number {
  return 1 + Math.floor(Math.max(0, timestampMs - genesisTimeMs) / parameters.maintenanceTimeInterval);
}

/** Current factor of a contract in 1/10,000, updated for the cycles since its last use. */
export function energyFactor(execution: Execution, contractKey: string): number {
  const { parameters, state } = execution;
  if (parameters.allowDynamicEnergy === 0) return 0;
  return contractEnergyNow(state, contractKey, executionCycle(execution), parameters).factor;
}

export function recordEnergyUse(execution: Execution, contractKey: string, energy: number): void {
  const { parameters, state } = execution;
  if (parameters.allowDynamicEnergy === 0) return;
  const now = contractEnergyNow(state, contractKey, executionCycle(execution), parameters);
  state.set('contractEnergy', contractKey, { ...now, usage: now.usage + BigInt(energy) });
}

function executionCycle({ head, genesisTimeMs, parameters }: Execution): number {
  return cycleOf(head.timestampMs, genesisTimeMs, parameters);
}

export function contractEnergyNow(
  state: Pick<State, 'get'>,
  contractKey: string,
  cycle: number,
  parameters: ChainParameters,
): ContractEnergy {
  const stored = state.get('contractEnergy', contractKey);
  return stored === undefined ? { cycle, usage: 0n, factor: 0 } : catchUp(stored, cycle, parameters);
}

/** ContractStateCapsule.catchUpToCycle of java-tron. */
function catchUp(stored: ContractEnergy, cycle: number, parameters: ChainParameters): ContractEnergy {
  if (stored.cycle >= cycle) return stored;
  const rate = parameters.dynamicEnergyIncreaseFactor / PRECISION;
  let { factor } = stored;
  let lastCycle = stored.cycle;
  if (stored.usage >= BigInt(parameters.dynamicEnergyThreshold)) {
    lastCycle += 1;
    factor = Math.min(
      parameters.dynamicEnergyMaxFactor,
      Math.floor((factor + PRECISION) * (1 + rate)) - PRECISION,
    );
  }
  const idleCycles = cycle - lastCycle;
  if (idleCycles > 0) {
    const decrease = (1 - rate / DECREASE_DIVISION) ** idleCycles;
    factor = Math.max(0, Math.floor((factor + PRECISION) * decrease) - PRECISION);
  }
  return { cycle, usage: 0n, factor };
}
