/** Generous, for busy machines. A condition that never becomes true costs a failing test this much time. */
const TIMEOUT_MS = 240_000;

/** Counts an error of `condition` as false. Rejects after `timeoutMs` with `what` and the last error. */
export async function waitUntil(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = TIMEOUT_MS,
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
  throw new Error(`timed out after ${timeoutMs} ms: ${what}`, { cause });
}
