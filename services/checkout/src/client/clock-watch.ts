/** The two clocks of a browser, in milliseconds. */
export interface Clocks {
  /** The time of day, which somebody may set. */
  readonly wallMs: () => number;
  /** Since the page began; it stands still in most browsers while the machine sleeps. */
  readonly monotonicMs: () => number;
  /** Whether somebody looks at the page: who doesn't lets its timers come rarely. */
  readonly isVisible: () => boolean;
}

export interface ClockWatch {
  /** Whether time has jumped since it was asked last: what the page reckons by its own clock is wrong then. */
  hasJumped(): boolean;
}

/** The clocks go apart by less in hours, and what a shorter sleep changes nobody notices. */
const APART_MS = 3_000;
/** A page that is looked at runs its timer each second; one that was stopped for so long had no news either. */
const STOPPED_MS = 10_000;

/** Notices that the machine has slept, that the page was stopped, or that somebody has set the clock. */
export function createClockWatch({ wallMs, monotonicMs, isVisible }: Clocks): ClockWatch {
  const look = () => ({ wall: wallMs(), monotonic: monotonicMs(), visible: isVisible() });
  let last = look();
  return {
    hasJumped() {
      const before = last;
      last = look();
      const passedMs = last.monotonic - before.monotonic;
      const apartMs = Math.abs(last.wall - before.wall - passedMs);
      return apartMs >= APART_MS || (before.visible && passedMs >= STOPPED_MS);
    },
  };
}
