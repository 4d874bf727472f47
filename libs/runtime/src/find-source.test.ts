import { expect, test } from 'vitest';
import { findSource } from './find-source.ts';

/** Line 1 has no source; line 2 comes from b.ts:20:1 and from column 9 on from a.ts:3:5; line 3 from a.ts:4:1. */
const MAP = { sources: ['a.ts', 'b.ts'], mappings: ';ACmBA,QDjBI;AACJ' };

test.each([
  [1, 1, undefined],
  [2, 1, 'b.ts:20:1'],
  [2, 8, 'b.ts:20:1'],
  [2, 9, 'a.ts:3:5'],
  [3, 40, 'a.ts:4:1'],
  [4, 1, undefined],
])('finds the source of line %i, column %i', (line, column, source) => {
  expect(findSource(MAP, line, column)).toBe(source);
});
