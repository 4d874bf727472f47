import type { Members } from './members.ts';

/** The work's outcome, or the first death among the members if that comes first. */
export async function untilDeath<Result>(members: Members, work: Promise<Result>): Promise<Result> {
  work.catch(() => undefined); // a death may have been thrown instead
  return Promise.race([work, members.died]);
}

/** Like Promise.all, but settles only when all have settled: what one of them starts must be known before stopping. */
export async function settleAll<const Work extends readonly Promise<unknown>[]>(
  work: Work,
): Promise<{ -readonly [Index in keyof Work]: Awaited<Work[Index]> }> {
  const results = await Promise.allSettled(work);
  const failure = results.find((result) => result.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
  return results.map((result) => (result as PromiseFulfilledResult<unknown>).value) as {
    -readonly [Index in keyof Work]: Awaited<Work[Index]>;
  };
}
