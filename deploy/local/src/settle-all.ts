import type { Members } from './gateway-parts.ts';

/** Result of `work`, or MEMBER_DIED if a member ends first. */
export async function rejectOnMemberEnd<Result>(members: Members, work: Promise<Result>): Promise<Result> {
  work.catch(() => undefined); // MEMBER_DIED may have been thrown instead
  return Promise.race([work, members.died]);
}

/** Like Promise.all, but waits for all: everything that they start must be known before a stop. */
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
