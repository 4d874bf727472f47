/** Whatever the machine has to do beside it: a condition that never holds costs a red test this much. */
const PATIENCE_MS = 90_000;

/**
 * Resolves once `condition` holds (a promise of it counts), asked every few milliseconds; a condition that throws
 * does not hold yet. Rejects after `timeoutMs` with `what` and the last error.
 */
export async function waitUntil(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = PATIENCE_MS,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  let cause: unknown;
  while (Date.now() < deadline) {
    try {
      if (await condition()) return;
    } catch (error) {
      cause = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`not within ${timeoutMs} ms: ${what}`, { cause });
}
