import type { Source } from './source.ts';
import type { Sources } from './sources.ts';

/** One source of several is believed alone. */
export interface AloneSource {
  readonly label: string;
  /** Since when the others fail, in seconds since 1970. */
  readonly sinceSeconds: number;
}

/** What is to be called when a source is believed alone, so that `tell` also hears since when. */
export function createAloneTeller<S extends Source>(
  sources: Pick<Sources<S>, 'health'>,
  tell: ((alone: AloneSource) => void) | undefined,
): (source: Pick<S, 'label'>) => void {
  return ({ label }) => {
    const failing = sources.health().filter(({ isAlone }) => !isAlone);
    const since = failing.map(({ failingSinceSeconds }) => failingSinceSeconds ?? 0);
    tell?.({ label, sinceSeconds: Math.max(...since) });
  };
}
