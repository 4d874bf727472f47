import { blockRequest } from './block-requests.ts';
import { decodeHeader } from './decode.ts';
import type { Ranking } from './rank-sources.ts';
import type { SourceEntry } from './source-entry.ts';
import type { HeadWatch } from './watch-heads.ts';

export interface HeadProbeDeps {
  readonly entries: readonly SourceEntry[];
  readonly ranking: Ranking;
  readonly heads: HeadWatch;
  readonly nowMs: () => number;
}

/** How often a source that is left out is asked for its head, and one that has shown none for long. */
const LEFT_OUT_MS = 5_000;
const IDLE_MS = 60_000;

/**
 * Makes the function that asks sources for their heads when nobody else does, so that those left out can come back and
 * those held in reserve are known. It starts the questions that are due and waits for none; one at a time per source.
 */
export function createHeadProbe({ entries, ranking, heads, nowMs }: HeadProbeDeps): () => void {
  const startedAtMs = nowMs();
  const probedAtMs = new Map<SourceEntry, number>();
  const underWay = new Set<SourceEntry>();

  async function probe(entry: SourceEntry): Promise<void> {
    underWay.add(entry);
    probedAtMs.set(entry, nowMs());
    try {
      const [block] = await entry.source.batch([blockRequest('latest')], { hurried: true });
      heads.note(entry.place, decodeHeader(block));
    } catch (error) {
      entry.noteFailure(error);
    } finally {
      underWay.delete(entry);
    }
  }

  return () => {
    if (entries.length === 1) return;
    for (const entry of entries) {
      if (
        entry.excludedSinceMs !== undefined ||
        underWay.has(entry) ||
        entry.record.restingUntilMs() > nowMs()
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
