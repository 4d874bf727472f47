import { expect, test } from 'vitest';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Chain } from '@opentill/domain/chains';
import { expectedSeconds } from './payment-facts.ts';

const BASE: NetworkConfig = {
  chain: 'BASE',
  family: 'EVM',
  enabled: true,
  chainId: 8_453,
  name: 'Base',
  rpcUrls: ['http://x'],
  nativeSymbol: 'ETH',
  nativeDecimals: 18,
  confirmations: 'finalized',
  finality: { staleSeconds: 3_600 },
  blockTimeMs: 2_000,
  pollIntervalMs: 3_000,
  reorgWindow: 900,
  maxBlockRange: 100,
  bloom: true,
  tokens: [],
};
const safe = { tag: 'safe', staleSeconds: 3_600 } as const;

test.each([
  ['the final block of a rollup', {}, null, 1_200],
  ['the same without a section on finality', { finality: undefined }, null, 1_200],
  ['a depth below finality', { finality: { staleSeconds: 3_600, minDepth: 700 } }, null, 1_400],
  ['a number of confirmations', { confirmations: 12 }, 12, 24],
  ['an order of the time when the chain credited at a depth', { finality: safe }, 12, 24],
  ['a safe block', { finality: safe }, null, null],
  ['a safe block with a depth', { finality: { ...safe, minDepth: 700 } }, null, null],
  ['the final block of a chain that is no preset', { chain: 'ACME_L2' as Chain }, null, null],
] as const)('expects for %s the time that is known', (_what, change, confirmations, seconds) => {
  const { finality, ...rest } = { ...BASE, ...change };
  const network: NetworkConfig = finality === undefined ? rest : { ...rest, finality };
  expect(expectedSeconds(network, confirmations)).toBe(seconds);
});
