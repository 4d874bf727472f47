import type { Source } from './source.ts';
import type { Sources } from './sources.ts';

export interface SingleSource {
  readonly label: string;
  /** Seconds since 1970 from which the others fail. */
  readonly sinceSeconds: number;
}

export function createSingleSourceNotifier<S extends Source>(
  sources: Pick<Sources<S>, 'health'>,
  notify: ((source: SingleSource) => void) | undefined,
): (source: Pick<S, 'label'>) => void {
  return ({ label }) => {
    const failing = sources.health().filter(({ isSingleSource }) => !isSingleSource);
    const since = failing.map(({ failingSinceSeconds }) => failingSinceSeconds ?? 0);
    notify?.({ label, sinceSeconds: Math.max(...since) });
  };
}
