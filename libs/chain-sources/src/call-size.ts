/**
 * How much to ask for in one call (blocks of an eth_getLogs, calls of a batch) where the limit is somebody else's
 * and is learned: reduced by a refusal, at once; growing back slowly, and not to what was refused twice.
 */
export interface CallSize {
  /** The most to ask for now; at least 1. */
  blocks(): number;
  /**
   * A call was refused as too large. `suggested` is what the refusal named as possible, `attempted` what was asked
   * for where that was less than `blocks()`; a refusal of more than `blocks()` is old news and changes nothing.
   */
  refused(suggested?: number, attempted?: number): void;
  /** A call was answered; one of less than `blocks()` (`attempted`) says nothing about more. */
  accepted(attempted?: number): void;
}

export interface CallSizeConfig {
  /** Never more, whatever is accepted. */
  readonly max: number;
  /** Monotonic. @default performance.now */
  readonly nowMs?: () => number;
}

/** After so many calls of the full size in a row without complaint, a little more is tried. */
const ACCEPTED_PER_GROWTH = 20;
const GROWTH = 1.1;
/** A size refused twice within this time is not tried again before the older refusal is so old. */
const REFUSALS_REMEMBERED_MS = 60 * 60 * 1_000;
const REFUSALS_KEPT = 64;

/** Starts at `max`: most providers say what they allow in their first refusal. */
export function createCallSize(config: CallSizeConfig): CallSize {
  const nowMs = config.nowMs ?? (() => performance.now());
  const max = Math.max(1, Math.floor(config.max));
  let refusals: { readonly size: number; readonly atMs: number }[] = [];
  let size = max;
  let accepted = 0;

  /** The most that was not refused twice of late: the second smallest refused size, less one. */
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
