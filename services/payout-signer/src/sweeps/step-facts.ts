import { withFeeMargin } from '@opentill/domain/fee-margin';
import {
  burnCost,
  missingUnits,
  requiredStake,
  topUpWithWork,
  topUpWithMargin,
} from '@opentill/domain/sweep-options';
import type { SweepPolicy } from '@opentill/wallet/policy/policy';
import type { EnergyQuote } from '../energy/energy-seller.ts';
import { findAsset } from './known-assets.ts';
import type { PlannerDeps } from './planner-deps.ts';
import { LENDING_STEP_SUN } from './price-energy.ts';
import type { CostObstacle, OpenSweep, SweepBooks } from './store/sweep-facts.ts';

export interface StepFacts {
  readonly sweep: OpenSweep;
  readonly books: Pick<SweepBooks, 'now' | 'isHalted' | 'heldSymbols' | 'spentLastDay' | 'suspendedMethods'>;
  readonly policy: SweepPolicy | undefined;
  readonly energyWaitMs: number;
  readonly hasSeller: boolean;
  readonly isWalletHalted: boolean;
  /** By the hot wallet (SUI). Transfers that the network makes free have no sponsor. */
  readonly isSponsored: boolean;
  /* The next facts cost a call to a node or a seller each. Absent until probed. */
  readonly fee?: FeeAtAddress | CostObstacle | 'UNKNOWN';
  readonly delegableBaseUnits?: bigint;
  readonly quote?: EnergyQuote | 'UNKNOWN';
  readonly lentBaseUnits?: bigint;
  /** The networks file no longer has the token. */
  readonly isAssetGone?: true;
  /** Reason why a step of this call could not be carried out. It ends the sweep. */
  readonly refused?: string;
}

export interface FeeAtAddress {
  readonly isShort: boolean;
  /** It burns more than is left of the sweep's plan. The signer would not sign it. */
  readonly exceedsPlan: boolean;
  /** For all that is burnt, or for what lent or bought energy leaves. Zero or less: none. */
  readonly missingCoin: bigint;
  /** undefined if only the native coin pays for execution. */
  readonly energy:
    | {
        /** The chain knows the address as an account, so stake and energy can be lent to it. */
        readonly isActive: boolean;
        readonly missingUnits: bigint;
        /** Stake that yields `missingUnits`; undefined if the yield is unknown. */
        readonly stakeBaseUnits: bigint | undefined;
        /** Above this price of `missingUnits` the signer would not sign the transaction. */
        readonly maxPriceSun: bigint;
      }
    | undefined;
}

export function knownFacts(
  { wallet, chain, policy, energyWaitMs }: Pick<PlannerDeps, 'wallet' | 'chain' | 'policy' | 'energyWaitMs'>,
  sweep: OpenSweep,
  books: SweepBooks,
): StepFacts {
  return {
    sweep,
    books,
    policy: policy?.sweep,
    energyWaitMs,
    hasSeller: chain.energy?.seller !== undefined,
    isWalletHalted: books.haltedWallets.has(wallet),
    isSponsored: chain.sponsorship !== undefined && sweep.costBaseUnits > 0n,
  };
}

export async function feeAtAddress(
  { chain, network, codec, wallet }: PlannerDeps,
  sweep: OpenSweep,
  signal: AbortSignal,
): Promise<FeeAtAddress | CostObstacle | undefined> {
  const { symbol, address, destination, amountBaseUnits, method } = sweep;
  const asset = findAsset(network, codec, symbol);
  if (asset === undefined) return undefined;
  const intent = { from: address, to: destination, contract: asset.contract, amountBaseUnits };
  const planned = leftOfPlan(sweep);
  const { energy } = chain;
  if (energy === undefined || asset.contract === null) {
    const [cost] = await chain.costsOf([intent], { signal });
    if (typeof cost !== 'bigint') return cost;
    const coin = await chain.coinAt(address, { signal });
    const missingCoin = withFeeMargin(cost) - coin;
    return { isShort: coin < cost, exceedsPlan: cost > planned, missingCoin, energy: undefined };
  }
  const [need] = await energy.needsOf([intent], { signal });
  if (need === undefined || typeof need === 'string') return need;
  const { prices, stakeYield } = await energy.accounts.market(wallet, { signal });
  const means = await energy.accounts.means(address, { signal });
  const { isActive, coinBaseUnits: coin } = means;
  const burnt = burnCost(need, means, prices);
  const units = missingUnits(need, means);
  return {
    isShort: coin < burnt,
    exceedsPlan: burnt > planned,
    missingCoin: method === 'TOP_UP' ? topUpWithMargin(burnt) - coin : topUpWithWork(need, means, prices),
    energy: {
      isActive,
      missingUnits: units,
      stakeBaseUnits: requiredStake(units, { yields: stakeYield, step: LENDING_STEP_SUN }),
      maxPriceSun: planned - burnCost(need, { ...means, workUnits: need.workUnits }, prices),
    },
  };
}

/** Includes the margin. Below zero: the sweep cost more than planned. */
export function leftOfPlan({ costBaseUnits, paidBaseUnits }: OpenSweep): bigint {
  return withFeeMargin(costBaseUnits) - paidBaseUnits;
}
