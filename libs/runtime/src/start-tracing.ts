import type { Logger } from './logger.ts';
import type { TracingSettings } from './service-settings.ts';

/** Without settings it loads and starts nothing. Returns a function that sends the remaining spans and stops. */
export async function startTracing(deps: {
  readonly service: string;
  readonly instanceId: string;
  readonly settings: TracingSettings | undefined;
  readonly logger: Logger;
}): Promise<() => Promise<void>> {
  const { settings } = deps;
  if (settings === undefined) return () => Promise.resolve();
  const { exportSpans } = await import('./export-spans.ts');
  return exportSpans({ ...deps, settings });
}
