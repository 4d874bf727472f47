export interface HedgeBudget {
  noteRun(): void;
  noteDuration(source: object, durationMs: number): void;
  /** The source's 95th percentile duration. */
  afterMs(source: object): number;
  /** Uses up one second start; false when none is available. */
  take(): boolean;
}

/** A tenth of the runs, so that the load does not double when all sources become slow at once. */
const SHARE = 0.1;
const SAVED_MAX = 5;
const DURATIONS_KEPT = 64;
const DURATIONS_NEEDED = 8;
const PERCENTILE = 0.95;
const AFTER_MS_MIN = 20;

export function createHedgeBudget(requestTimeoutMs: number): HedgeBudget {
  const durations = new WeakMap<object, number[]>();
  // While little is known of a source: a fifth of its timeout.
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
