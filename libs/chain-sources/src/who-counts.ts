import type { Said } from './ask-two-sources.ts';
import { secondMissing } from './ask-two-sources.ts';
import type { Source } from './source.ts';
import type { Sources } from './sources.ts';

/** The answers of one alone are enough where it may stand alone. */
const ENOUGH = 2;

/**
 * Which answers count of those that were given: all of them, if there are two; or that of the one source that may stand alone (see
 * Sources.mayStandAlone), also beside one that is long behind and answers all the same. Throws why there is no second otherwise.
 * @param onAlone told when one source of several is believed alone
 */
export function whoCounts<S extends Source, T>(
  sources: Pick<Sources<S>, 'all' | 'againInMs' | 'mayStandAlone'>,
  said: readonly Said<S, T>[],
  onAlone: (source: S) => void,
): readonly T[] {
  const alone = said.filter(({ source }) => sources.mayStandAlone(source));
  const [only] = alone;
  // By a clock that is wrong all of them are long behind.
  if (only !== undefined && alone.length === 1) {
    if (sources.all().length > 1) onAlone(only.source);
    return [only.answer];
  }
  if (said.length < ENOUGH) throw secondMissing(sources, new Map());
  return said.map(({ answer }) => answer);
}
