/**
 * Polls a condition until it holds; false when the deadline passed first. The condition is asked at least once,
 * and its errors are the caller's to catch. Times in milliseconds of the monotonic clock.
 */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  options: { readonly deadlineMs: number; readonly pollIntervalMs: number },
): Promise<boolean> {
  const end = performance.now() + options.deadlineMs;
  for (;;) {
    if (await condition()) return true;
    if (performance.now() >= end) return false;
    await new Promise((resolve) => setTimeout(resolve, options.pollIntervalMs));
  }
}
