import { expect, test } from 'vitest';
import { CHAIN_VALUES, chainIdOf, FAMILIES, familyOf, isChain } from './chains.ts';

test('has twelve chain values, a main and a test network each', () => {
  expect(CHAIN_VALUES).toHaveLength(12);
  for (const chain of CHAIN_VALUES) expect(FAMILIES).toContain(familyOf(chain));
});

test.each(['eth', 'ETH ', '', 'toString', '__proto__', null, 1])('rejects %j as a chain', (value) => {
  expect(isChain(value)).toBe(false);
});

test('gives a unique chain id to every EVM chain and to no other', () => {
  const ids = CHAIN_VALUES.filter((chain) => familyOf(chain) === 'EVM').map(chainIdOf);
  expect(ids).toEqual([1, 11_155_111, 56, 97, 137, 80_002, 43_114, 43_113]);
  expect(CHAIN_VALUES.filter((chain) => familyOf(chain) !== 'EVM').map(chainIdOf)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
