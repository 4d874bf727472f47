import type { PolicyPayout } from './policy.ts';

/** What counts of the same token on the same chain, in base units. */
export interface PolicyCounters {
  readonly hour: bigint;
  readonly day: bigint;
  /** Of the payout's merchant alone, in a day. */
  readonly merchantDay: bigint;
}

/** A payout that counts: authorised or signed, and not refused or expired since; or one that waits for approval. */
export interface AuthorisedPayout extends Pick<
  PolicyPayout,
  'chain' | 'symbol' | 'merchantId' | 'amountBaseUnits'
> {
  /** Null: it waits for approval. */
  readonly authorisedAt: Date | null;
}

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/**
 * Counts what stands against a payout at `now`: windows slide, and what was authorised exactly an hour or a day ago
 * still counts. There is no upper bound, so that a clock that was set back forgets nothing. Whoever counts in SQL
 * counts the same: `signed_at >= now - interval '1 hour'`. There each signed attempt at a payout is one entry, also of the payout itself.
 *
 * What waits for approval keeps its place in the windows of a day for as long as it waits: so nobody can have more of the
 * wallet's money kept for payouts than a day's limits let out, and what was let in to wait is not refused for others since.
 * It leaves nothing in the hour: when it goes nobody knows.
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
