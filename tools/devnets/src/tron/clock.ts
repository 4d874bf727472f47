export interface DevnetClock {
  readonly now: () => number;
  step(byMs: number): void;
}

/** Starts at `startMs` or the machine's time. */
export function createClock(startMs: number | undefined): DevnetClock {
  let offsetMs = startMs === undefined ? 0 : startMs - Date.now();
  return {
    now: () => Date.now() + offsetMs,
    step(byMs) {
      offsetMs += byMs;
    },
  };
}
