export interface Clocks {
  /** A user can change it. */
  readonly wallMs: () => number;
  /** Since the page loaded. In most browsers it stops while the machine sleeps. */
  readonly monotonicMs: () => number;
  /** The browser runs timers of a hidden page rarely. */
  readonly isVisible: () => boolean;
}

export interface ClockWatch {
  /** True if time jumped since the last call. Times that the page computed are then wrong. */
  hasJumped(): boolean;
}

/** Larger than the drift of the clocks in hours. A shorter sleep has no visible effect. */
const CLOCK_DIFFERENCE_MS = 3_000;
/** A visible page runs its timer every second. After a longer gap it was frozen and received no updates. */
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
