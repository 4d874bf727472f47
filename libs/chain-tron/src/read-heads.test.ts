import { expect, test } from 'vitest';
import { everyFewPolls } from './read-heads.ts';

test('asks for finality at every fourth poll, and again after a failure', async () => {
  let nowMs = 0;
  let reads = 0;
  let isFailing = false;
  const read = everyFewPolls(
    { pollIntervalMs: 3_000, blockTimeMs: 3_000 },
    () => nowMs,
    async () => {
      reads += 1;
      if (isFailing) throw new Error('no answer');
      return reads;
    },
  );
  const heights: unknown[] = [];
  for (let poll = 0; poll < 9; poll += 1) {
    isFailing = poll === 4;
    nowMs = poll * 3_000;
    heights.push(await read({}).catch(() => 'failed'));
  }
  expect(heights).toEqual([1, 1, 1, 1, 'failed', 3, 3, 3, 3]);
});

test('asks for finality at each poll where polls are more frequent than blocks', async () => {
  let reads = 0;
  const read = everyFewPolls(
    { pollIntervalMs: 500, blockTimeMs: 3_000 },
    () => 0,
    async () => (reads += 1),
  );
  expect([await read({}), await read({})]).toEqual([1, 2]);
});
