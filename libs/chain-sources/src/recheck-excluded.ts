import type { Source } from './source.ts';
import type { SourceEntry } from './source-entry.ts';

const EVERY_MS = 60_000;

/**
 * Uses a node again that has finished its sync, without a restart. Does not wait for the checks; one at a time per
 * source.
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
