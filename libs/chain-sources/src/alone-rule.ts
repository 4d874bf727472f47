import { ALONE_AFTER_SECONDS } from '@opentill/contracts/network-config';
import type { Source } from './source.ts';
import type { SourceEntry } from './source-entry.ts';
import type { HeadWatch } from './watch-heads.ts';

/** Decides when one source of several is believed alone. Until then the gateway waits rather than guesses. */
export interface AloneRule<S extends Source> {
  /** Since when the source has given no usable answer, by `nowMs`; undefined when it does. */
  failingSinceMs(entry: SourceEntry<S>): number | undefined;
  /** Whether all others have failed for long enough while this one did not. False where there is no other. */
  isAlone(entry: SourceEntry<S>): boolean;
  /** How long until it is alone if the others go on failing and this one does not; undefined while another one answers. */
  aloneInMs(entry: SourceEntry<S>): number | undefined;
}

export interface AloneRuleDeps<S extends Source> {
  readonly entries: readonly SourceEntry<S>[];
  readonly heads: HeadWatch;
  /** Monotonic. */
  readonly nowMs: () => number;
  /** @default ALONE_AFTER_SECONDS */
  readonly aloneAfterSeconds: number | 'never' | undefined;
}

export function createAloneRule<S extends Source>({
  entries,
  heads,
  nowMs,
  aloneAfterSeconds,
}: AloneRuleDeps<S>): AloneRule<S> {
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

  function aloneInMs(entry: SourceEntry<S>): number | undefined {
    const others = entries.filter((other) => other !== entry);
    const since = others.map(failingSinceMs);
    if (others.length === 0 || since.includes(undefined)) return undefined;
    const sinceMs = Math.max(...since.filter((ms) => ms !== undefined));
    // Only the time counts in which it answered itself: after an outage of all, whoever comes back first is no more to be
    // believed than the others. But one that fails for a moment now and then need not begin anew each time.
    const answeredMs = nowMs() - sinceMs - entry.record.failedMsSince(sinceMs);
    return Math.max(0, afterMs - answeredMs);
  }

  return { failingSinceMs, aloneInMs, isAlone: (entry) => aloneInMs(entry) === 0 };
}
