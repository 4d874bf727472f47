import { expect, test } from 'vitest';
import { findSources } from './find-source.ts';

/** Line 1 has no source; line 2 comes from b.ts:20:1 and from column 9 on from a.ts:3:5; line 3 from a.ts:4:1. */
const MAP = { sources: ['a.ts', 'b.ts'], mappings: ';ACmBA,QDjBI;AACJ' };

test('finds the sources of places in any order, and none outside the map', () => {
  const places = [
    [3, 3, 'a.ts:4:1'],
    [1, 1, undefined],
    [2, 8, 'b.ts:20:1'],
    [2, 1, 'b.ts:20:1'],
    [2, 9, 'a.ts:3:5'],
  ] as const;
  const found = findSources(
    MAP,
    places.map(([line, column]) => ({ line, column })),
  );
  expect(found).toEqual(places.map(([, , source]) => source));
  expect(findSources(MAP, [{ line: 4, column: 1 }])).toEqual([undefined]);
});
