import type { Ranking } from './rank-sources.ts';
import { createRecheck } from './recheck-excluded.ts';
import type { AskOptions, Source } from './source.ts';
import type { SourceEntry } from './source-entry.ts';
import type { HeadWatch, ShownHead } from './watch-heads.ts';

export interface HeadProbeDeps<S extends Source> {
  readonly entries: readonly SourceEntry<S>[];
  readonly ranking: Ranking<S>;
  readonly readHead: (source: S, options: AskOptions) => Promise<ShownHead>;
  readonly heads: HeadWatch;
  readonly nowMs: () => number;
}

/** Interval of head requests to unusable sources, and to those that have shown no head for long. */
const LEFT_OUT_MS = 5_000;
const IDLE_MS = 5 * 60_000;

/** Asks idle sources for their heads, so that unusable ones can return. Does not wait; one request per source. */
export function createHeadProbe<S extends Source>(deps: HeadProbeDeps<S>): () => void {
  const { entries, ranking, heads, nowMs, readHead } = deps;
  const startedAtMs = nowMs();
  const probedAtMs = new Map<SourceEntry<S>, number>();
  const underWay = new Set<SourceEntry<S>>();
  const recheckExcluded = createRecheck(entries, nowMs);

  async function probe(entry: SourceEntry<S>): Promise<void> {
    underWay.add(entry);
    probedAtMs.set(entry, nowMs());
    try {
      heads.note(entry.place, await readHead(entry.source, { hurried: true }));
    } catch (error) {
      entry.noteFailure(error);
    } finally {
      underWay.delete(entry);
    }
  }

  return () => {
    if (entries.length === 1) return;
    recheckExcluded();
    for (const entry of entries) {
      if (
        entry.excludedSinceMs !== undefined ||
        underWay.has(entry) ||
        entry.record.backoffUntilMs() > nowMs()
      )
        continue;
      const everyMs = ranking.troubleOf(entry) === null ? IDLE_MS : LEFT_OUT_MS;
      const lastMs = Math.max(
        startedAtMs,
        heads.notedAtMs(entry.place),
        probedAtMs.get(entry) ?? startedAtMs,
      );
      if (nowMs() - lastMs >= everyMs) void probe(entry);
    }
  };
}
