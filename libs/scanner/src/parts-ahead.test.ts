import { expect, it } from '@jest/globals';
import { createPartsAhead } from './parts-ahead.ts';

it('few are read at once before it is known how full they are, and as many as may be of empty ones', () => {
  const parts = createPartsAhead();
  expect([parts.ahead(12), parts.ahead(1)]).toEqual([2, 1]);
  parts.note(0);
  expect(parts.ahead(12)).toBe(12);
});

it('of full ones fewer, one at least', () => {
  const parts = createPartsAhead();
  parts.note(10_000);
  expect([parts.ahead(12), parts.ahead(4)]).toEqual([5, 4]);
  parts.note(200_000);
  expect(parts.ahead(12)).toBe(1);
});

it('an empty one among full ones changes nothing; when all have been small for a while, more are read', () => {
  const parts = createPartsAhead();
  parts.note(25_000);
  for (let times = 0; times < 15; times += 1) parts.note(1);
  expect(parts.ahead(12)).toBe(2);
  parts.note(1);
  expect(parts.ahead(12)).toBe(12);
});
