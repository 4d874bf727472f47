import { setTimeout as sleep } from 'node:timers/promises';

export { sleep };

const DEADLINE_MS = 300_000;

/** Throws after `limitMs`, by default five minutes. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  pollMs = 100,
  limitMs = DEADLINE_MS,
): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`bench: timed out: ${what}`);
    await sleep(pollMs);
  }
}
