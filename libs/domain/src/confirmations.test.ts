import { expect, test } from 'vitest';
import { confirmedNum, isDeepEnough } from './confirmations.ts';

test('counts one confirmation for the head itself', () => {
  expect(confirmedNum(100, 100)).toBe(1);
  expect(confirmedNum(111, 100)).toBe(12);
});

test('counts none for a head below the block', () => {
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
] as const)('decides depth for %s with head %s and %s required: %s', (state, head, required, expected) => {
  expect(isDeepEnough({ state, blockHeight: 100 }, head, required)).toBe(expected);
});
