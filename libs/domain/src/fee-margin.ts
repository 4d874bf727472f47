/** Prices move between the plan, the top-up and the sweep; what is not used of it is there the next time. */
export const MARGIN_PERCENT = 120n;

/** A cost with what prices may rise by until it is paid. */
export function withFeeMargin(costBaseUnits: bigint): bigint {
  return (costBaseUnits * MARGIN_PERCENT) / 100n;
}
