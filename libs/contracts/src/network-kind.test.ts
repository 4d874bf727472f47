import { expect, it } from 'vitest';
import type { Chain } from '@opentill/domain/chains';
import { networkKindOf } from './network-kind.ts';

const on = (...chains: Chain[]) => chains.map((chain) => ({ chain, enabled: true }));

it('networkKindOf returns the kind of the enabled networks', () => {
  expect(networkKindOf([...on('TRON', 'ETH'), { chain: 'TRON_TEST', enabled: false }])).toBe('main');
  expect(networkKindOf(on('TRON_TEST', 'ETH_SEPOLIA'))).toBe('test');
  expect(networkKindOf([])).toBe('main');
});

it('networkKindOf takes the kind of other chains from the networks file', () => {
  const acme = { chain: 'ACME_L2' as Chain, enabled: true };
  expect(networkKindOf([{ ...acme, kind: 'test' }, ...on('ETH_SEPOLIA')])).toBe('test');
  expect(() => networkKindOf([{ ...acme, kind: 'test' }, ...on('ETH')])).toThrow(/ETH.*ACME_L2/);
});

it('networkKindOf refuses main and test networks together and names both', () => {
  expect(() => networkKindOf(on('TRON', 'TRON_TEST', 'ETH'))).toThrow(
    /main networks \(TRON, ETH\) and test networks \(TRON_TEST\).*second gateway/,
  );
});
