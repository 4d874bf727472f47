export interface Clocks {
  /** Time of day, which a user can change. */
  readonly wallMs: () => number;
  /** Time since the page loaded. In most browsers it stops while the machine sleeps. */
  readonly monotonicMs: () => number;
  /** False for a hidden page, whose timers the browser runs rarely. */
  readonly isVisible: () => boolean;
}

export interface ClockWatch {
  /** True when time has jumped since the last call. Times that the page computed are then wrong. */
  hasJumped(): boolean;
}

/** Larger than the drift of the clocks in hours. A shorter sleep has no visible effect. */
const CLOCK_DIFFERENCE_MS = 3_000;
/** A visible page runs its timer every second. A longer gap means that it was frozen and received no updates. */
const STOPPED_MS = 10_000;

/** Detects that the machine slept, the page was frozen, or the clock was changed. */
export function createClockWatch({ wallMs, monotonicMs, isVisible }: Clocks): ClockWatch {
  const readClocks = () => ({ wall: wallMs(), monotonic: monotonicMs(), visible: isVisible() });
  let last = readClocks();
  return {
    hasJumped() {
      const before = last;
      last = readClocks();
      const passedMs = last.monotonic - before.monotonic;
      const differenceMs = Math.abs(last.wall - before.wall - passedMs);
      return differenceMs >= CLOCK_DIFFERENCE_MS || (before.visible && passedMs >= STOPPED_MS);
    },
  };
}
