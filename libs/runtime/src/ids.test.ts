import { describe, expect, it } from '@jest/globals';
import { newId } from './ids.ts';

describe('newId', () => {
  it('makes ids that differ and sort in the order of their making, also within a millisecond', () => {
    const ids = Array.from({ length: 20_000 }, () => newId());
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.toSorted()).toEqual(ids);
  });
});
