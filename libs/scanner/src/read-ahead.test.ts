import { describe, expect, it } from 'vitest';
import { createReadAhead, createReadingLimit } from './read-ahead.ts';

interface Call {
  readonly item: number;
  readonly signal: AbortSignal;
  done(): void;
  fail(error: Error): void;
}

function reading(count: number, ahead: number | (() => number)) {
  const calls: Call[] = [];
  const reads = createReadAhead({
    items: Array.from({ length: count }, (_, item) => item).values(),
    read: (item, signal) =>
      new Promise<number>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')));
        calls.push({ item, signal, done: () => resolve(item * 10), fail: reject });
      }),
    ahead: typeof ahead === 'number' ? () => ahead : ahead,
  });
  return { calls, reads };
}

describe('createReadAhead', () => {
  it('starts several reads and returns their results in order', async () => {
    const { calls, reads } = reading(5, 3);
    const first = reads.next();
    expect(calls.map((call) => call.item)).toEqual([0, 1, 2]);
    calls[2]!.done();
    calls[1]!.done();
    expect(await reads.isNextReady(0)).toBe(false);
    calls[0]!.done();
    expect(await first).toBe(0);
    expect(await reads.isNextReady(0)).toBe(true);
    expect(await reads.next()).toBe(10);
    expect(calls).toHaveLength(4); // each returned result starts one more read at the next call
    expect(await reads.next()).toBe(20);
    calls.slice(3).forEach((call) => call.done());
    expect([await reads.next(), await reads.next(), await reads.next()]).toEqual([30, 40, undefined]);
  });

  it('lowers concurrency when `ahead` falls, but keeps one read running', async () => {
    let ahead = 3;
    const { calls, reads } = reading(9, () => ahead);
    const first = reads.next();
    ahead = 2;
    calls.forEach((call) => call.done());
    await first;
    expect(await reads.next()).toBe(10);
    expect(calls).toHaveLength(3);
    expect(await reads.next()).toBe(20);
    expect(calls).toHaveLength(4);
    ahead = 0;
    calls[3]!.done();
    expect(await reads.next()).toBe(30);
    const fifth = reads.next();
    expect(calls).toHaveLength(5);
    calls[4]!.done();
    expect(await fifth).toBe(40);
  });

  it('waits only for the next result', async () => {
    const { calls, reads } = reading(3, 2);
    const ready = reads.isNextReady(60_000);
    expect(calls.map((call) => call.item)).toEqual([0, 1]);
    calls[1]!.done();
    calls[0]!.fail(new Error('broken')); // a failure counts as ready
    expect(await ready).toBe(true);
    await expect(reads.next()).rejects.toThrow('broken');
  });

  it('reports ready after the last result', async () => {
    const { calls, reads } = reading(1, 2);
    const first = reads.next();
    calls[0]!.done();
    await first;
    expect(await reads.isNextReady(60_000)).toBe(true);
    expect(await reads.next()).toBeUndefined();
  });

  it('returns no result after a failure and aborts running reads', async () => {
    const { calls, reads } = reading(5, 3);
    const first = reads.next();
    calls[2]!.done();
    calls[0]!.done();
    await first;
    calls[1]!.fail(new Error('broken'));
    await expect(reads.next()).rejects.toThrow('broken');
    await expect(reads.next()).rejects.toThrow('broken');
    await reads.stop();
    expect(calls.every((call) => call.signal.aborted)).toBe(true);
    expect(calls.length).toBeLessThan(5);
  });
});

it('reads two segments at first, and the maximum when segments are empty', () => {
  const limit = createReadingLimit();
  expect([limit.segments(12), limit.segments(1)]).toEqual([2, 1]);
  limit.note(0);
  expect(limit.segments(12)).toBe(12);
});

it('reads fewer full segments at once, but at least one', () => {
  const limit = createReadingLimit();
  limit.note(10_000);
  expect([limit.segments(12), limit.segments(4)]).toEqual([5, 4]);
  limit.note(200_000);
  expect(limit.segments(12)).toBe(1);
});

it('reads more segments after 16 small ones', () => {
  const limit = createReadingLimit();
  limit.note(25_000);
  for (let times = 0; times < 15; times += 1) limit.note(1);
  expect(limit.segments(12)).toBe(2);
  limit.note(1);
  expect(limit.segments(12)).toBe(12);
});
