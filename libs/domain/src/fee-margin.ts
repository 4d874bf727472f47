/** Prices rise between the plan, the top-up and the sweep. The unused part remains for the next sweep. */
export const MARGIN_PERCENT = 120n;

export function withFeeMargin(costBaseUnits: bigint): bigint {
  return (costBaseUnits * MARGIN_PERCENT) / 100n;
}
