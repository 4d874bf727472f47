import { expect, it } from 'vitest';
import { CHECKPOINTS_PER_CALL, createCheckpointsPerCall } from './checkpoints-per-call.ts';

function sizeAfter(transactions: number, checkpoints: number): number {
  const size = createCheckpointsPerCall();
  for (let count = 0; count < checkpoints; count += 1) size.note(transactions);
  return size.now();
}

it('reads 100 quiet checkpoints per call and fewer busy ones', () => {
  expect(sizeAfter(10, 1_000)).toBe(CHECKPOINTS_PER_CALL);
  expect(sizeAfter(200, 100)).toBe(10);
  expect(sizeAfter(10_000, 100)).toBe(4);
});

it('reads fewer checkpoints per call after busy ones, slowly more after quiet ones', () => {
  expect(sizeAfter(200, 8)).toBeLessThanOrEqual(11);
  expect(sizeAfter(0, 8)).toBeLessThan(30);
  expect(sizeAfter(0, 0)).toBe(20);
});
