export type Pause = ReturnType<typeof createPause>;

const FAILURES_ALLOWED = 2;
const FIRST_MS = 5_000;
const LONGEST_MS = 10 * 60 * 1_000;

/** A way of reading that fails three times in a row is not tried for 5 s, then twice as long each time, up to 10 minutes. */
export function createPause(nowMs: () => number) {
  let failures = 0;
  let untilMs = -Infinity;
  const begin = (ms: number): void => void (untilMs = Math.max(untilMs, nowMs() + ms));
  return {
    isOn: () => nowMs() < untilMs,
    begin,
    failed(): void {
      failures += 1;
      if (failures > FAILURES_ALLOWED)
        begin(Math.min(LONGEST_MS, FIRST_MS * 2 ** (failures - FAILURES_ALLOWED - 1)));
    },
    succeeded: (): void => void (failures = 0),
  };
}
