import { createCannedEvm } from './evm.ts';
import type { CannedChain, CannedPlan } from './plan.ts';
import { createCannedSui } from './sui.ts';
import { createCannedTron } from './tron.ts';

const CREATE = { EVM: createCannedEvm, TRON: createCannedTron, SUI: createCannedSui } as const;

export function createCannedChain(plan: CannedPlan): CannedChain {
  return CREATE[plan.family](plan);
}
