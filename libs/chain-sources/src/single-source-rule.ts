import { ALONE_AFTER_SECONDS } from '@opentill/contracts/network-config';
import type { Source } from './source.ts';
import type { SourceEntry } from './source-entry.ts';
import type { HeadWatch } from './watch-heads.ts';

/** Decides when a single source of several is accepted. Until then the gateway waits. */
export interface SingleSourceRule<S extends Source> {
  /** Moment by `nowMs`; undefined while the source answers. */
  failingSinceMs(entry: SourceEntry<S>): number | undefined;
  /** All others have failed for long enough while this one answered. False without other sources. */
  isSingleSource(entry: SourceEntry<S>): boolean;
  /** Time until `isSingleSource`, if the others keep failing and this one does not; undefined while another one answers. */
  acceptedInMs(entry: SourceEntry<S>): number | undefined;
}

export interface SingleSourceRuleDeps<S extends Source> {
  readonly entries: readonly SourceEntry<S>[];
  readonly heads: HeadWatch;
  /** Monotonic. */
  readonly nowMs: () => number;
  /** @default ALONE_AFTER_SECONDS */
  readonly aloneAfterSeconds: number | 'never' | undefined;
}

export function createSingleSourceRule<S extends Source>({
  entries,
  heads,
  nowMs,
  aloneAfterSeconds,
}: SingleSourceRuleDeps<S>): SingleSourceRule<S> {
  const afterMs =
    aloneAfterSeconds === 'never' ? Infinity : (aloneAfterSeconds ?? ALONE_AFTER_SECONDS) * 1_000;

  function failingSinceMs({
    record,
    place,
    excludedSinceMs,
    lackingSinceMs,
  }: SourceEntry<S>): number | undefined {
    const since = [record.failingSinceMs(), heads.oldSinceMs(place), excludedSinceMs, lackingSinceMs];
    const known = since.filter((ms) => ms !== undefined);
    return known.length === 0 ? undefined : Math.min(...known);
  }

  function acceptedInMs(entry: SourceEntry<S>): number | undefined {
    const others = entries.filter((other) => other !== entry);
    const since = others.map(failingSinceMs);
    if (others.length === 0 || since.includes(undefined)) return undefined;
    const sinceMs = Math.max(...since.filter((ms) => ms !== undefined));
    // Only the time in which this source itself answered counts: after an outage of all, the first to recover is no
    // more reliable than the others. A short failure does not restart the count.
    const answeredMs = nowMs() - sinceMs - entry.record.failedMsSince(sinceMs);
    return Math.max(0, afterMs - answeredMs);
  }

  return { failingSinceMs, acceptedInMs, isSingleSource: (entry) => acceptedInMs(entry) === 0 };
}
