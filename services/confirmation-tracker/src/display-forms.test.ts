import { expect, test } from 'vitest';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { loadDisplayForms, rememberForms } from './display-forms.ts';

const network = (over: Partial<NetworkConfig>): NetworkConfig => ({
  chain: 'ETH',
  family: 'EVM',
  enabled: true,
  chainId: 1,
  name: 'Ethereum',
  rpcUrls: ['http://127.0.0.1:1'],
  nativeSymbol: 'ETH',
  nativeDecimals: 18,
  confirmations: 12,
  blockTimeMs: 1_000,
  pollIntervalMs: 1_000,
  reorgWindow: 64,
  maxBlockRange: 10,
  bloom: true,
  tokens: [],
  ...over,
});
const USDT = '0xdac17f958d2ee523a2206206994597c13d831ec7';

test('shows EVM addresses and contracts with checksums', async () => {
  const display = (await loadDisplayForms([network({})]))('ETH');
  expect(display.nativeDecimals).toBe(18);
  expect(display.formatAddress(USDT)).toBe('0xdAC17F958D2ee523a2206206994597C13D831ec7');
  expect(display.formatContract(USDT)).toBe('0xdAC17F958D2ee523a2206206994597C13D831ec7');
});

test('does not format a SUI coin type as an address', async () => {
  const display = (await loadDisplayForms([network({ chain: 'SUI', family: 'SUI', nativeDecimals: 9 })]))(
    'SUI',
  );
  expect(display.nativeDecimals).toBe(9);
  expect(display.formatContract('0xab::usdc::USDC')).toBe('0xab::usdc::USDC');
});

test('shows stored addresses for an unconfigured chain', async () => {
  const display = (await loadDisplayForms([]))('ETH');
  expect(display).toMatchObject({ nativeDecimals: 0 });
  expect(display.formatAddress(USDT)).toBe(USDT);
});

test('caches the most recent addresses up to the limit', () => {
  const made: string[] = [];
  const format = rememberForms((address) => {
    made.push(address);
    return address.toUpperCase();
  }, 2);
  expect(['a', 'b', 'a', 'b'].map(format)).toEqual(['A', 'B', 'A', 'B']);
  expect(made).toEqual(['a', 'b']);
  expect(['c', 'b', 'a'].map(format)).toEqual(['C', 'B', 'A']);
  expect(made).toEqual(['a', 'b', 'c', 'a']);
});
