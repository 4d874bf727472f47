import type { SourceHealth, SourceTrouble } from '@opentill/chain/source-health';
import type { Source } from './source.ts';
import type { SourceEntry } from './source-entry.ts';
import type { HeadWatch } from './watch-heads.ts';

export interface SourceChange {
  readonly label: string;
  readonly trouble: SourceTrouble | null;
  readonly before: SourceTrouble | null;
  readonly lastErrorCode: SourceHealth['lastErrorCode'];
}

export interface Ranking<S extends Source> {
  troubleOf(entry: SourceEntry<S>): SourceTrouble | null;
  /** Usable ones first, best first; excluded ones only when all are excluded. */
  ranked(): readonly SourceEntry<S>[];
  /** All sources when none is usable. */
  usable(): readonly SourceEntry<S>[];
  /**
   * Answers count where two must agree. Includes lagging sources, which may have the block in question, and one that
   * reported another chain, after its backoff: it must report the right chain first.
   */
  quorumSources(): readonly SourceEntry<S>[];
}

export interface RankingDeps<S extends Source> {
  readonly entries: readonly SourceEntry<S>[];
  readonly heads: HeadWatch;
  readonly nowMs: () => number;
  readonly onSourceChange: ((change: SourceChange) => void) | undefined;
}

/** Penalty per place in the configuration: a later source is preferred only if it is four times as fast. */
const PREFERENCE = 2;
const BADNESS: readonly (SourceTrouble | null)[] = [
  null,
  'RESTING',
  'LAGGING',
  'STUCK',
  'WRONG_CHAIN',
  'EXCLUDED',
];

export function createRanking<S extends Source>({
  entries,
  heads,
  nowMs,
  onSourceChange,
}: RankingDeps<S>): Ranking<S> {
  const reported = new Map<SourceEntry<S>, SourceTrouble | null>();

  function troubleOf({ record, excludedSinceMs, place }: SourceEntry<S>): SourceTrouble | null {
    if (excludedSinceMs !== undefined) return 'EXCLUDED';
    if (record.isOfAnotherChain()) return 'WRONG_CHAIN';
    return record.backoffUntilMs() > nowMs() ? 'RESTING' : heads.trouble(place);
  }

  function report(entry: SourceEntry<S>, trouble: SourceTrouble | null): void {
    const before = reported.get(entry) ?? null;
    if (trouble === before) return;
    reported.set(entry, trouble);
    const lastErrorCode = entry.record.lastErrorCode();
    onSourceChange?.({ label: entry.source.label, trouble, before, lastErrorCode });
  }

  function sorted(): readonly { readonly entry: SourceEntry<S>; readonly trouble: SourceTrouble | null }[] {
    const found = entries.map((entry) => {
      const trouble = troubleOf(entry);
      report(entry, trouble);
      const penalty = entry.record.penalty(entry.source.waitMs()) + PREFERENCE * entry.place;
      return { entry, trouble, penalty, badness: BADNESS.indexOf(trouble) };
    });
    const fit = found.filter(({ entry }) => entry.excludedSinceMs === undefined);
    const asked = fit.length === 0 ? found : fit;
    return asked.toSorted((a, b) => a.badness - b.badness || a.penalty - b.penalty);
  }

  function fitOrAll(
    isFit: (trouble: SourceTrouble | null, entry: SourceEntry<S>) => boolean,
  ): readonly SourceEntry<S>[] {
    const all = sorted();
    const fit = all.filter(({ entry, trouble }) => isFit(trouble, entry));
    return (fit.length === 0 ? all : fit).map(({ entry }) => entry);
  }

  return {
    troubleOf,
    ranked: () => sorted().map(({ entry }) => entry),
    usable: () => fitOrAll((trouble) => trouble === null),
    quorumSources: () =>
      fitOrAll(
        (trouble, { record }) =>
          trouble === null ||
          trouble === 'LAGGING' ||
          trouble === 'STUCK' ||
          (trouble === 'WRONG_CHAIN' && record.backoffUntilMs() <= nowMs()),
      ),
  };
}
