import { expect, test } from 'vitest';
import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import { readerError } from '@opentill/chain/reader-error';
import { retryRead, createRetryBudget } from './retry-read.ts';

function failing(codes: readonly ReaderErrorCode[], context: Readonly<Record<string, unknown>> = {}) {
  const asked = { tries: 0 };
  const work = (): Promise<string> => {
    const code = codes[asked.tries];
    asked.tries += 1;
    return code === undefined ? Promise.resolve('answer') : Promise.reject(readerError(code, 'x', context));
  };
  return { asked, work };
}
const always = (code: ReaderErrorCode) => failing(Array.from({ length: 99 }, () => code));

test('retries a transient error up to five times and a missing block three times', async () => {
  const passing: readonly ReaderErrorCode[] = ['BLOCK_NOT_FOUND', 'RPC_UNAVAILABLE', 'INCONSISTENT_ANSWER'];
  const { work } = failing([...passing, 'INCONSISTENT_ANSWER']);
  await expect(retryRead(work, createRetryBudget(), {})).resolves.toBe('answer');
  for (const [code, tries] of [
    ['INCONSISTENT_ANSWER', 5],
    ['BLOCK_NOT_FOUND', 3],
  ] as const) {
    const { asked, work: failingAlways } = always(code);
    await expect(retryRead(failingAlways, createRetryBudget(), {})).rejects.toMatchObject({ code });
    expect(asked.tries).toBe(tries);
  }
});

test('limits the retries of all blocks of a round together', async () => {
  for (const [code, again] of [
    ['RPC_UNAVAILABLE', 4],
    ['BLOCK_NOT_FOUND', 8],
    ['INCONSISTENT_ANSWER', 8],
  ] as const) {
    const { asked, work } = always(code);
    const budget = createRetryBudget();
    const reads = Array.from({ length: 8 }, () => retryRead(work, budget, {}));
    expect((await Promise.allSettled(reads)).every(({ status }) => status === 'rejected')).toBe(true);
    expect(asked.tries).toBe(reads.length + again);
  }
});

test('does not retry after a rate limit, a slow failure or an abort', async () => {
  const stopping = new AbortController();
  stopping.abort();
  const cases = [
    [failing(['RPC_RATE_LIMITED']), {}],
    [failing(['RPC_UNAVAILABLE'], { tookMs: 1_001 }), {}],
    [failing(['INCONSISTENT_ANSWER']), { signal: stopping.signal }],
  ] as const;
  for (const [{ asked, work }, options] of cases) {
    await expect(retryRead(work, createRetryBudget(), options)).rejects.toBeInstanceOf(Error);
    expect(asked.tries).toBe(1);
  }
});
