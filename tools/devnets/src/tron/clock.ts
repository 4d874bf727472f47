export interface DevnetClock {
  readonly now: () => number;
  step(byMs: number): void;
}

export function createClock(startMs: number | undefined): DevnetClock {
  let offsetMs = startMs === undefined ? 0 : startMs - Date.now();
  return {
    now: () => Date.now() + offsetMs,
    step(byMs) {
      offsetMs += byMs;
    },
  };
}
