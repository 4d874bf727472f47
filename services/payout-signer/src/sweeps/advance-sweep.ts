import { buyEnergy } from './buy-energy.ts';
import { findAsset, nativeOf } from './known-assets.ts';
import { nextStep, type SweepStep } from './next-step.ts';
import type { OpenStep } from './planner-deps.ts';
import { feeAtAddress, knownFacts, leftOfPlan, type StepFacts } from './step-facts.ts';
import { NO_ENERGY } from './store/sweep-facts.ts';

/** Each round but the last adds a fact. A sweep needs at most five. */
const ROUNDS_MAX = 8;

export async function advanceSweep(at: OpenStep): Promise<boolean> {
  const { deps, sweep, books } = at;
  let facts = knownFacts(deps, sweep, books);
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const step = nextStep(facts);
    // No fee was probed after a failed DELEGATE: no energy was expected.
    if ('reason' in step && step.reason === NO_ENERGY && facts.fee !== undefined)
      deps.observe.stepped(deps.network.chain, sweep.sweepId, NO_ENERGY, 'warn');
    const outcome = await carryOut(at, step);
    if (typeof outcome === 'boolean') return outcome;
    facts = { ...facts, ...outcome };
  }
  return false;
}

/** @returns whether a movement began, or facts with which the next step is decided at once */
async function carryOut(at: OpenStep, step: SweepStep): Promise<boolean | Partial<StepFacts>> {
  const { deps, lease, sweep, signal } = at;
  const { store, network, codec, wallet, chain } = deps;
  const accounts = chain.energy?.accounts;
  const { sweepId, address, destination } = sweep;
  const log = (what: string) => deps.observe.stepped(network.chain, sweepId, what);
  switch (step.kind) {
    case 'WAIT':
      return false;
    case 'PROBE_FEE':
      return { fee: (await feeAtAddress(deps, sweep, signal)) ?? 'UNKNOWN' };
    case 'PROBE_LENDABLE':
      return accounts !== undefined && { delegableBaseUnits: await accounts.delegable(wallet, { signal }) };
    case 'PROBE_LENT':
      return accounts !== undefined && { lentBaseUnits: await accounts.lent(wallet, address, { signal }) };
    case 'PROBE_QUOTE':
      return { quote: (await chain.energy?.seller?.quote(step.units, address, signal)) ?? 'UNKNOWN' };
    case 'END': {
      await store.end(lease, sweepId, step.state, step.reason);
      log(step.state);
      const left = leftOfPlan(sweep);
      at.onEnded(left > 0n ? left : 0n);
      return false;
    }
    case 'BUY': {
      const refused = await buyEnergy(at, step.quote);
      return refused !== undefined && { refused };
    }
    case 'BEGIN': {
      const { kind: _, movement: kind, reason, ...rest } = step;
      const isSweep = kind === 'SWEEP';
      const asset = isSweep ? findAsset(network, codec, sweep.symbol) : nativeOf(network);
      if (asset === undefined) return { isAssetGone: true };
      const path = isSweep ? { wallet: address, receiver: destination } : { wallet, receiver: address };
      const endsFor = reason === null ? {} : { endsFor: reason };
      const began = await store.move(lease, { sweepId, kind, ...asset, ...path, ...rest, ...endsFor });
      log(began ? kind : `${kind} is not covered`);
      // The address no longer holds the amount, or it is reserved elsewhere.
      return began || (isSweep && { refused: 'not covered' });
    }
  }
}
