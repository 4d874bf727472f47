import type { NetworkConfig } from '@opentill/contracts/network-config';
import { withFeeMargin } from '@opentill/domain/fee-margin';
import { costInAsset } from '@opentill/domain/plan-sweeps';
import type { SweepPolicy } from '@opentill/wallet/policy/policy';
import type { FeePayer } from '../payouts/payout-facts.ts';

const BPS = 10_000n;

/** What a transaction would pay at most. */
export interface OfferedFee {
  /** Of a unit of work: EVM wei for gas, TRON sun for energy, SUI MIST. Undefined: nobody could say. */
  readonly workPrice: bigint | undefined;
  /** All of it in coin, base units; what stake and free bytes pay for is not in it. */
  readonly feeBaseUnits: bigint;
}

/** Whether the policy's bounds of sweeps hold for it. What people are paid, and what is brought for fees, has bounds of its own. */
export function hasBoundedFee({ movement }: Pick<FeePayer, 'movement'>): boolean {
  return movement?.kind === 'SWEEP' || movement?.kind === 'TO_COLD';
}

/** Whether it was planned with its cost: a sweep, all that is done for it but for taking back, and what goes to cold storage. */
function isPlanned({ movement }: Pick<FeePayer, 'movement'>): boolean {
  return hasBoundedFee({ movement }) || movement?.kind === 'GAS_TOP_UP' || movement?.kind === 'DELEGATE';
}

/**
 * Whether the gateway's own movement may pay this now: no more than was planned for it, so that the day's budget has it; and a sweep, or
 * what goes to cold storage, no more for a unit of work than the policy says, and no more than its share of what it moves. Each but the
 * price with the margin that fees are brought with. The planner's word counts as long as it is less: the policy's bounds hold
 * whatever stands in the row.
 *
 * @param sweep undefined where the policy says nothing of sweeps here, or no more: what was planned bounds it still
 */
export function isFeeWithin(
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
  // Of native coin what it moves is what its fee left of what lay there.
  const whole = contract === null ? amountBaseUnits + feeBaseUnits : amountBaseUnits;
  return cost * BPS <= withFeeMargin(whole * BigInt(maxCostBps));
}

/** Of what goes to cold storage an earlier version said nothing: then the policy alone bounds it. */
function plannedFor({ movement }: FeePayer): bigint {
  if (movement === null) return 0n;
  const { kind, plannedCostBaseUnits: planned, paidBesidesBaseUnits: paid } = movement;
  if (planned === null) return kind === 'TO_COLD' ? UNBOUNDED : 0n;
  return withFeeMargin(planned) - paid;
}

const UNBOUNDED = 2n ** 256n;
