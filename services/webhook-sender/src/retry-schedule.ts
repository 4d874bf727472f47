/** Deliveries that failed together are not retried together. */
const JITTER_SHARE = 0.2;

/** Jitter only lengthens a pause. undefined after the end of the schedule. */
export function nextAttemptDelayMs(
  scheduleSeconds: readonly number[],
  attempts: number,
  random: () => number,
): number | undefined {
  const seconds = scheduleSeconds[attempts - 1];
  return seconds === undefined ? undefined : Math.round(seconds * 1000 * (1 + JITTER_SHARE * random()));
}
