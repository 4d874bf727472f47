/** Longest extra wait, as a share of the pause: many deliveries that failed together don't come back together. */
const JITTER_SHARE = 0.2;

/**
 * Milliseconds until the next attempt after `attempts` failed ones, or undefined when the schedule is exhausted.
 * Jitter only ever lengthens a pause.
 * @param random in [0, 1)
 */
export function nextAttemptDelayMs(
  scheduleSeconds: readonly number[],
  attempts: number,
  random: () => number,
): number | undefined {
  const seconds = scheduleSeconds[attempts - 1];
  return seconds === undefined ? undefined : Math.round(seconds * 1000 * (1 + JITTER_SHARE * random()));
}
