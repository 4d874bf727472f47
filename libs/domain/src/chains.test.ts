import { expect, test } from 'vitest';
import { CHAIN_VALUES, chainIdOf, FAMILIES, familyOf, isChain } from './chains.ts';

test('the twelve chain values, two networks each', () => {
  expect(CHAIN_VALUES).toHaveLength(12);
  for (const chain of CHAIN_VALUES) expect(FAMILIES).toContain(familyOf(chain));
});

test.each(['eth', 'ETH ', '', 'toString', '__proto__', null, 1])('%j is not a chain', (value) => {
  expect(isChain(value)).toBe(false);
});

test('every EVM chain has a chain id of its own, and no other chain has one', () => {
  const ids = CHAIN_VALUES.filter((chain) => familyOf(chain) === 'EVM').map(chainIdOf);
  expect(ids).toEqual([1, 11_155_111, 56, 97, 137, 80_002, 43_114, 43_113]);
  expect(CHAIN_VALUES.filter((chain) => familyOf(chain) !== 'EVM').map(chainIdOf)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
