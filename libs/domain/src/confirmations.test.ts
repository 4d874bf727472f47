import { expect, test } from 'vitest';
import { confirmedNum, isDeepEnough } from './confirmations.ts';

test('the head itself is one confirmation', () => {
  expect(confirmedNum(100, 100)).toBe(1);
  expect(confirmedNum(111, 100)).toBe(12);
});

test('a head below the block is none', () => {
  expect(confirmedNum(99, 100)).toBe(0);
  expect(confirmedNum(50, 100)).toBe(0);
});

test.each([
  ['DETECTED', 200, 1, false],
  ['ORPHANED', 200, 1, false],
  ['VERIFIED', 110, 12, false],
  ['VERIFIED', 111, 12, true],
  ['VERIFIED', 100, null, true],
  ['DETECTED', 200, null, false],
] as const)('%s with head %s, required %s: %s', (state, head, required, expected) => {
  expect(isDeepEnough({ state, blockHeight: 100 }, head, required)).toBe(expected);
});
