import { expect, it } from 'vitest';
import type { Chain } from '@opentill/domain/chains';
import { kindOfNetworks } from './network-kind.ts';

const on = (...chains: Chain[]) => chains.map((chain) => ({ chain, enabled: true }));

it('kindOfNetworks returns the kind of the enabled networks', () => {
  expect(kindOfNetworks([...on('TRON', 'ETH'), { chain: 'TRON_TEST', enabled: false }])).toBe('main');
  expect(kindOfNetworks(on('TRON_TEST', 'ETH_SEPOLIA'))).toBe('test');
  expect(kindOfNetworks([])).toBe('main');
});

it('kindOfNetworks refuses main and test networks together and names both', () => {
  expect(() => kindOfNetworks(on('TRON', 'TRON_TEST', 'ETH'))).toThrow(
    /main networks \(TRON, ETH\) and test networks \(TRON_TEST\).*second gateway/,
  );
});
