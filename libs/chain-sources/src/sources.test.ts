import { describe, expect, it } from 'vitest';
import { readerError } from '@opentill/chain/reader-error';
import type { Source } from './source.ts';
import { createSources, type Sources } from './sources.ts';

const ALONE_AFTER_SECONDS = 60;

function twoSources(): { sources: Sources<Source>; pass: (ms: number) => void } {
  let now = 0;
  const sources = createSources<Source>({
    createSources: ['a', 'b'].map((label) => () => ({ label, waitMs: () => 0 })),
    readHead: () => Promise.reject(new Error('not asked')),
    blockTimeMs: 3_000,
    aloneAfterSeconds: ALONE_AFTER_SECONDS,
    nowMs: () => now,
    epochMs: () => now,
    random: () => 0,
  });
  return { sources, pass: (ms) => (now += ms) };
}
const isOfAnotherChain = () => readerError('WRONG_CHAIN', 'another chain');

describe('retryInMs after one of two sources failed', () => {
  it('suggests a retry at the end of the failed source’s backoff', () => {
    const { sources, pass } = twoSources();
    expect(sources.retryInMs()).toBeUndefined();
    sources.noteFault(sources.all()[1]!, isOfAnotherChain());
    expect(sources.retryInMs()).toBe(125);
    pass(100);
    expect(sources.retryInMs()).toBe(25);
  });

  it('suggests no delay when the backoff has already ended', () => {
    const { sources, pass } = twoSources();
    sources.noteFault(sources.all()[1]!, isOfAnotherChain());
    pass(500);
    expect(sources.retryInMs()).toBeUndefined();
  });

  it('suggests a retry when a single source is accepted before the backoff ends', () => {
    const { sources, pass } = twoSources();
    const failing = sources.all()[1]!;
    sources.noteFault(failing, readerError('RPC_FORBIDDEN', 'no key'));
    pass((ALONE_AFTER_SECONDS - 10) * 1_000);
    sources.noteFault(failing, readerError('RPC_FORBIDDEN', 'no key'));
    expect(sources.retryInMs()).toBe(10_000);
  });
});

describe('a source without the code of a token', () => {
  it('uses an excluded source again once it has the token’s code', async () => {
    const { sources, pass } = twoSources();
    const [first, second] = sources.all();
    let hasCode = false;
    let checks = 0;
    const recheck = () => {
      checks += 1;
      return hasCode ? Promise.resolve() : Promise.reject(readerError('TOKEN_MISMATCH', 'no code'));
    };
    sources.exclude(second!, readerError('TOKEN_MISMATCH', 'no code'), recheck);
    const run = () => sources.run(() => Promise.resolve('an answer'));
    await run();
    expect([checks, sources.usable()]).toEqual([0, [first]]);
    pass(60_000);
    await run();
    await run();
    expect([checks, sources.usable()]).toEqual([1, [first]]);
    hasCode = true;
    pass(60_000);
    await run();
    await run();
    expect([checks, sources.usable()]).toEqual([2, [first, second]]);
  });
});
