/**
 * Resolves once `condition` holds (a promise of it counts), asked every few milliseconds; a condition that throws
 * does not hold yet. Rejects after `timeoutMs` with `what` and the last error.
 */
export async function waitUntil(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 20_000,
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
