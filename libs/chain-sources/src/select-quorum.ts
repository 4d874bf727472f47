import type { SourceAnswer } from './ask-two-sources.ts';
import { noSecondSource } from './ask-two-sources.ts';
import type { Source } from './source.ts';
import type { Sources } from './sources.ts';

const ENOUGH = 2;

/**
 * Two answers both count. If a single source is accepted (Sources.acceptsSingle), only its answer counts, even if a
 * source that lags for long answers as well; `onSingleSource` is called if others are configured.
 */
export function selectQuorum<S extends Source, T>(
  sources: Pick<Sources<S>, 'all' | 'retryInMs' | 'acceptsSingle'>,
  received: readonly SourceAnswer<S, T>[],
  onSingleSource: (source: S) => void,
): readonly T[] {
  const accepted = received.filter(({ source }) => sources.acceptsSingle(source));
  const [only] = accepted;
  // With a wrong local clock, all sources seem to lag for long.
  if (only !== undefined && accepted.length === 1) {
    if (sources.all().length > 1) onSingleSource(only.source);
    return [only.answer];
  }
  if (received.length < ENOUGH) throw noSecondSource(sources, new Map());
  return received.map(({ answer }) => answer);
}
