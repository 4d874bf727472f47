/** Polls at least once. Returns false after the deadline. Errors of the condition reach the caller. */
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
