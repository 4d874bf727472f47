import { expect, test } from '@jest/globals';
import { CHAIN_VALUES, FAMILIES, familyOf, isChain } from './chains.ts';

test('the twelve chain values, two networks each', () => {
  expect(CHAIN_VALUES).toHaveLength(12);
  for (const chain of CHAIN_VALUES) expect(FAMILIES).toContain(familyOf(chain));
});

test.each(['eth', 'ETH ', '', 'toString', '__proto__', null, 1])('%j is not a chain', (value) => {
  expect(isChain(value)).toBe(false);
});
