import type { Source } from './source.ts';
import type { SourceEntry } from './source-entry.ts';

/** Pause between checks of an excluded source. */
const EVERY_MS = 60_000;

/**
 * Makes the function that checks excluded sources again, so that a node which finished its sync is used without a restart.
 * It starts the checks that are due and waits for none; one at a time per source.
 */
export function createRecheck<S extends Source>(
  entries: readonly SourceEntry<S>[],
  nowMs: () => number,
): () => void {
  const checkedAtMs = new Map<SourceEntry<S>, number>();
  const underWay = new Set<SourceEntry<S>>();

  async function recheck(entry: SourceEntry<S>): Promise<void> {
    underWay.add(entry);
    try {
      await entry.recheck?.();
      entry.excludedSinceMs = undefined;
    } catch {
      // It stays excluded.
    } finally {
      checkedAtMs.set(entry, nowMs());
      underWay.delete(entry);
    }
  }

  return () => {
    for (const entry of entries) {
      const { excludedSinceMs, recheck: check } = entry;
      if (excludedSinceMs === undefined || check === undefined || underWay.has(entry)) continue;
      const lastMs = Math.max(excludedSinceMs, checkedAtMs.get(entry) ?? excludedSinceMs);
      if (nowMs() - lastMs >= EVERY_MS) void recheck(entry);
    }
  };
}
