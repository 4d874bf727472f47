import type { NetworkConfig } from '@opentill/contracts/network-config';
import { withFeeMargin } from '@opentill/domain/fee-margin';
import { costInAsset } from '@opentill/domain/plan-sweeps';
import type { SweepPolicy } from '@opentill/wallet/policy/policy';
import type { FeePayer } from '../payouts/payout-facts.ts';

const BPS = 10_000n;

export interface OfferedFee {
  /** EVM wei per gas, TRON sun per energy, SUI MIST. undefined: unknown. */
  readonly workPrice: bigint | undefined;
  /** Native coin, without what stake and free bytes pay. */
  readonly feeBaseUnits: bigint;
}

/** The policy's bounds of sweeps apply. Merchants' payouts and fees that are brought have others. */
export function hasBoundedFee({ movement }: Pick<FeePayer, 'movement'>): boolean {
  return movement?.kind === 'SWEEP' || movement?.kind === 'TO_COLD';
}

function isPlanned({ movement }: Pick<FeePayer, 'movement'>): boolean {
  return hasBoundedFee({ movement }) || movement?.kind === 'GAS_TOP_UP' || movement?.kind === 'DELEGATE';
}

/**
 * At most the planned cost, so that the day's budget covers it. A sweep or a transfer to cold storage must also stay
 * within the policy's price for a unit of work and within its share of the moved value, independently of the row. All
 * but that price include the margin with which fees are brought.
 * @param sweep undefined if the policy does not sweep this chain
 */
export function isFeeWithinBounds(
  sweep: Pick<SweepPolicy, 'maxGasPriceBaseUnits' | 'maxCostBps' | 'nativePrice'> | undefined,
  { nativeDecimals }: Pick<NetworkConfig, 'nativeDecimals'>,
  payer: FeePayer,
  { workPrice, feeBaseUnits }: OfferedFee,
): boolean {
  if (isPlanned(payer) && feeBaseUnits > plannedFor(payer)) return false;
  if (!hasBoundedFee(payer)) return true;
  const { contract, decimals, amountBaseUnits } = payer;
  if (sweep === undefined) return true;
  const { maxGasPriceBaseUnits: maxPrice, maxCostBps, nativePrice } = sweep;
  if (maxPrice !== undefined && (workPrice === undefined || workPrice > maxPrice)) return false;
  const asset = { isNative: contract === null, decimals };
  const cost = costInAsset({ nativePrice, nativeDecimals }, asset, feeBaseUnits);
  // A sweep of native coin moves what its fee left, so the share refers to both.
  const whole = contract === null ? amountBaseUnits + feeBaseUnits : amountBaseUnits;
  return cost * BPS <= withFeeMargin(whole * BigInt(maxCostBps));
}

/** Earlier versions planned no cost for transfers to cold storage. Only the policy bounds those. */
function plannedFor({ movement }: FeePayer): bigint {
  if (movement === null) return 0n;
  const { kind, plannedCostBaseUnits: planned, paidByOthersBaseUnits: paid } = movement;
  if (planned === null) return kind === 'TO_COLD' ? UNBOUNDED : 0n;
  return withFeeMargin(planned) - paid;
}

const UNBOUNDED = 2n ** 256n;
