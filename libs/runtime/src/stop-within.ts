import { withDeadline } from './deadline.ts';
import type { Logger } from './logger.ts';

/** The sum stays below runService's 10 s. */
export const STOP_LIMITS_MS = {
  intake: 5_000,
  /** Relay and presence. Unpublished events wait in the outbox. */
  tail: 1_000,
  /** For Database.close(); closing the broker takes up to 2 s more. */
  database: 1_000,
  /** For the last spans. */
  traces: 500,
} as const;

/** Stops all parts in parallel, with one limit. Abandons late parts with a warning. */
export async function stopWithin(
  limitMs: number,
  parts: Readonly<Record<string, () => Promise<unknown>>>,
  logger: Pick<Logger, 'warn'>,
): Promise<void> {
  const left = new Set(Object.keys(parts));
  const late = new Error('not stopped in time');
  const stopAll = () =>
    Promise.all(Object.entries(parts).map(([name, stop]) => stop().then(() => left.delete(name))));
  try {
    await withDeadline(limitMs, stopAll, () => late);
  } catch (error) {
    if (error !== late) throw error;
    logger.warn('parts not stopped in time', { parts: [...left], limitMs });
  }
}
