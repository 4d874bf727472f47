/** Generous, for busy machines. A condition that never becomes true costs a failing test this much time. */
const TIMEOUT_MS = 240_000;

/** Conditions often ask a process or a database, so a pause is a tenth of the wait so far, within these bounds. */
const [PAUSE_MS_MIN, PAUSE_MS_MAX] = [10, 50];

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
    const pauseMs = Math.min(PAUSE_MS_MAX, PAUSE_MS_MIN + (Date.now() - startedAt) / 10);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  throw new Error(`timed out after ${timeoutMs} ms: ${what}`, { cause });
}
