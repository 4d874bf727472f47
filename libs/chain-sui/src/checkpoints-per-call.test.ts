import { expect, it } from 'vitest';
import { CHECKPOINTS_PER_CALL, createCheckpointsPerCall } from './checkpoints-per-call.ts';

function sizeAfter(transactions: number, checkpoints: number): number {
  const size = createCheckpointsPerCall();
  for (let count = 0; count < checkpoints; count += 1) size.note(transactions);
  return size.now();
}

it('quiet checkpoints are read as many at once as nodes give, busy ones by so few that they fit into little memory', () => {
  expect(sizeAfter(10, 1_000)).toBe(CHECKPOINTS_PER_CALL);
  expect(sizeAfter(200, 100)).toBe(10);
  expect(sizeAfter(10_000, 100)).toBe(4);
});

it('a few busy ones are enough, and a few quiet ones are not', () => {
  expect(sizeAfter(200, 8)).toBeLessThanOrEqual(11);
  expect(sizeAfter(0, 8)).toBeLessThan(30);
  expect(sizeAfter(0, 0)).toBe(20);
});
