import { withDeadline } from './deadline.ts';
import type { Logger } from './logger.ts';

/** What the stages of stopping may take, so that together they stay below runService's 10 s. */
export const STOP_LIMITS_MS = {
  /** Consumers and loops, with what they have in hand. */
  intake: 5_000,
  /** Relay and presence: what is not published waits in the outbox. */
  tail: 1_000,
  /** For Database.close(); the broker's takes up to 2 s of its own. */
  database: 1_000,
} as const;

/** One stage of stopping: all parts at once, `limitMs` for all. What takes longer is left behind, with a warning. */
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
    logger.warn('left behind while stopping', { parts: [...left], limitMs });
  }
}
