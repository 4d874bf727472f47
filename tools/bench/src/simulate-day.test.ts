import { expect, test } from 'vitest';
import { openShare } from './simulate-day.ts';

test('a day without orders rests, and one with 20,000 never does', () => {
  expect(openShare(0, 1)).toBe(0);
  expect(openShare(20_000, 1)).toBeGreaterThan(0.999);
});

test('twenty orders are open for a seventh of a day at most', () => {
  // 16 paid ones for 3 + 1 minutes on average, and 4 for 31: 188 of 1,440 minutes, less where they overlap.
  expect(openShare(20, 1)).toBeGreaterThan(0.08);
  expect(openShare(20, 1)).toBeLessThan(188 / 1_440 + 0.02);
});
