/**
 * Learned size of a call (blocks of an eth_getLogs, calls of a batch). A rejection reduces it; it grows back slowly.
 */
export interface CallSize {
  blocks(): number;
  /**
   * The call was too large. `suggested`: the size that the rejection names. `attempted`: the call's size, if less than
   * `blocks()`. A rejection of more than `blocks()` is outdated and ignored.
   */
  refused(suggested?: number, attempted?: number): void;
  /** A call of less than `blocks()` (`attempted`) does not count towards growth. */
  accepted(attempted?: number): void;
}

export interface CallSizeConfig {
  readonly max: number;
  /** Monotonic. @default performance.now */
  readonly nowMs?: () => number;
}

/** Successful calls of full size in a row before a larger one is tried. */
const ACCEPTED_PER_GROWTH = 20;
const GROWTH = 1.1;
/** A size that was rejected twice within this time is not tried until the older rejection has expired. */
const REFUSALS_REMEMBERED_MS = 60 * 60 * 1_000;
const REFUSALS_KEPT = 64;

/** Starts at `max`: most providers name their limit in the first rejection. */
export function createCallSize(config: CallSizeConfig): CallSize {
  const nowMs = config.nowMs ?? (() => performance.now());
  const max = Math.max(1, Math.floor(config.max));
  let refusals: { readonly size: number; readonly atMs: number }[] = [];
  let size = max;
  let accepted = 0;

  /** The second smallest size that was rejected recently, less one. */
  function ceiling(): number {
    const since = nowMs() - REFUSALS_REMEMBERED_MS;
    refusals = refusals.filter(({ atMs }) => atMs > since).slice(-REFUSALS_KEPT);
    const secondSmallest = refusals.map((refusal) => refusal.size).sort((a, b) => a - b)[1];
    return Math.max(1, Math.min(max, (secondSmallest ?? max + 1) - 1));
  }

  return {
    blocks: () => size,
    refused(suggested, attempted = size) {
      if (attempted > size) return;
      accepted = 0;
      refusals.push({ size: attempted, atMs: nowMs() });
      const fits = suggested !== undefined && suggested >= 1 && suggested < attempted;
      size = Math.max(1, fits ? Math.floor(suggested) : Math.floor(attempted / 2));
    },
    accepted(attempted = size) {
      if (attempted < size) return;
      accepted += 1;
      if (accepted < ACCEPTED_PER_GROWTH) return;
      accepted = 0;
      size = Math.max(size, Math.min(ceiling(), Math.max(size + 1, Math.floor(size * GROWTH))));
    },
  };
}
