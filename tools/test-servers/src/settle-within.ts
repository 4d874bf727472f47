/** Waits until all have settled, at most `deadlineMs`. Failures are ignored. */
export async function settleWithin(deadlineMs: number, works: readonly Promise<unknown>[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise((resolve) => {
    timer = setTimeout(resolve, deadlineMs);
  });
  await Promise.race([Promise.allSettled(works), deadline]);
  clearTimeout(timer);
}
