/** Generous, for busy machines. A condition that never becomes true costs a failing test this much time. */
const TIMEOUT_MS = 240_000;

/** Conditions often ask a process or a database, so they are asked less often when the wait is long. */
const [PAUSE_MS, LONG_PAUSE_MS, LONG_AFTER_MS] = [10, 50, 1_000];

/** Counts an error of `condition` as false. Rejects after `timeoutMs` with `what` and the last error. */
export async function waitUntil(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  const startedAt = Date.now();
  const deadline = startedAt + timeoutMs;
  let cause: unknown;
  while (Date.now() < deadline) {
    try {
      if (await condition()) return;
    } catch (error) {
      cause = error;
    }
    const pause = Date.now() - startedAt < LONG_AFTER_MS ? PAUSE_MS : LONG_PAUSE_MS;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
  throw new Error(`timed out after ${timeoutMs} ms: ${what}`, { cause });
}
