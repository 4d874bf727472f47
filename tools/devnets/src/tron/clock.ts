/** The chain's clock: the machine's, put forward. */
export interface DevnetClock {
  /** Epoch ms. */
  readonly now: () => number;
  step(byMs: number): void;
}

/** Starts at `startMs`, or at the machine's time. */
export function createClock(startMs: number | undefined): DevnetClock {
  let offsetMs = startMs === undefined ? 0 : startMs - Date.now();
  return {
    now: () => Date.now() + offsetMs,
    step(byMs) {
      offsetMs += byMs;
    },
  };
}
