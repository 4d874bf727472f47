/** When a second source may start beside the first, and how often. */
export interface HedgeBudget {
  /** One more run that might have needed a second source. */
  noteRun(): void;
  /** How long such work took at a source that succeeded. */
  noteDuration(source: object, durationMs: number): void;
  /** The time in which the source usually (19 of 20 times) is done. */
  afterMs(source: object): number;
  /** Takes one second start, if there is one. */
  take(): boolean;
}

/** A tenth of the runs: the load does not double when everything becomes slow at once. */
const SHARE = 0.1;
const SAVED_MAX = 5;
const DURATIONS_KEPT = 64;
const DURATIONS_NEEDED = 8;
const PERCENTILE = 0.95;
const AFTER_MS_MIN = 20;

export function createHedgeBudget(requestTimeoutMs: number): HedgeBudget {
  const durations = new WeakMap<object, number[]>();
  // As long as little is known of a source, a fifth of the longest time it may take.
  const unknownMs = requestTimeoutMs / 5;
  let saved = 1;
  return {
    noteRun() {
      saved = Math.min(SAVED_MAX, saved + SHARE);
    },
    noteDuration(source, durationMs) {
      const kept = durations.get(source) ?? [];
      kept.push(durationMs);
      if (kept.length > DURATIONS_KEPT) kept.shift();
      durations.set(source, kept);
    },
    afterMs(source) {
      const kept = durations.get(source) ?? [];
      if (kept.length < DURATIONS_NEEDED) return unknownMs;
      const sorted = kept.toSorted((a, b) => a - b);
      const usual = sorted[Math.floor((sorted.length - 1) * PERCENTILE)] ?? unknownMs;
      return Math.min(Math.max(usual, AFTER_MS_MIN), requestTimeoutMs / 2);
    },
    take() {
      if (saved < 1) return false;
      saved -= 1;
      return true;
    },
  };
}
