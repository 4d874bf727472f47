import type { PolicyPayout } from './policy.ts';

/** One token on one chain, in base units. */
export interface PolicyCounters {
  readonly hour: bigint;
  readonly day: bigint;
  /** Only the payout's merchant, in 24 hours. */
  readonly merchantDay: bigint;
}

/** Authorised or signed and not refused or expired since, or waiting for approval. */
export interface AuthorisedPayout extends Pick<
  PolicyPayout,
  'chain' | 'symbol' | 'merchantId' | 'amountBaseUnits'
> {
  /** Null while it waits for approval. */
  readonly authorisedAt: Date | null;
}

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/**
 * Windows slide, edges included, without an upper bound: a clock that is set back forgets no payout. SQL counts the
 * same way: `signed_at >= now - interval '1 hour'`, one entry per signed attempt, also those of the payout itself.
 *
 * A payout that waits for approval counts in the windows of a day as long as it waits, so waiting payouts never reserve
 * more than a day's limits. It does not count in the hour, because its time of signing is unknown.
 */
export function countAuthorised(
  authorised: readonly AuthorisedPayout[],
  payout: Pick<PolicyPayout, 'chain' | 'symbol' | 'merchantId'>,
  now: Date,
): PolicyCounters {
  const alike = authorised.filter(({ chain, symbol }) => chain === payout.chain && symbol === payout.symbol);
  const sum = (windowMs: number, counts: (other: AuthorisedPayout) => boolean): bigint =>
    alike
      .filter(({ authorisedAt }) =>
        authorisedAt === null ? windowMs === DAY_MS : authorisedAt.getTime() >= now.getTime() - windowMs,
      )
      .filter(counts)
      .reduce((total, { amountBaseUnits }) => total + amountBaseUnits, 0n);
  return {
    hour: sum(HOUR_MS, () => true),
    day: sum(DAY_MS, () => true),
    merchantDay: sum(DAY_MS, ({ merchantId }) => merchantId === payout.merchantId),
  };
}
