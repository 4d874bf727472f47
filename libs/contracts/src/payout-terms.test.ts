import { describe, expect, test } from '@jest/globals';
import type { NetworkConfig, PayoutsConfig } from './network-config.ts';
import { parseNetworkFile } from './parse-network-file.ts';
import { payoutTermsOf } from './payout-terms.ts';

const PAYOUTS: PayoutsConfig = {
  maxOpenNonces: 16,
  minPriorityFeePerGas: '1',
  maxPriorityFeePerGas: '3000000000',
  maxFeePerGas: '200000000000',
  bumpAfterSeconds: 45,
};
function parse(payouts: object | undefined, overrides: object = {}): NetworkConfig | undefined {
  const token = { symbol: 'USDT', decimals: 6, displayDecimals: 2, minAmount: null, maxAmount: null };
  const network = {
    chain: 'ETH',
    family: 'EVM',
    enabled: true,
    chainId: 1,
    name: 'Ethereum',
    rpcUrls: ['https://one.example'],
    nativeSymbol: 'ETH',
    nativeDecimals: 18,
    confirmations: 12,
    blockTimeMs: 12_000,
    pollIntervalMs: 2_000,
    reorgWindow: 128,
    maxBlockRange: 100,
    bloom: true,
    tokens: [{ ...token, contract: '0xdAC17F958D2ee523a2206206994597C13D831ec7' }],
    ...(payouts && { payouts }),
    ...overrides,
  };
  return parseNetworkFile(JSON.stringify({ networks: [network] }), 'networks.json')[0];
}
const mistakesOf = (payouts: object, overrides: object = {}): readonly string[] => {
  try {
    parse(payouts, overrides);
  } catch (error) {
    return (error as Error).message
      .split('\n')
      .slice(1)
      .map((line) => line.trim());
  }
  return [];
};

describe('payouts of a network file', () => {
  test('are optional, and unknown where absent', () => {
    const network = parse(undefined);
    expect(network?.payouts).toBeUndefined();
    expect(network && payoutTermsOf(network)).toBeUndefined();
  });

  test('are read as numbers', () => {
    const network = parse({
      ...PAYOUTS,
      lowGasBaseUnits: '50000000000000000',
      lowBalance: { usdt: '1000.5' },
      float: { USDT: '50000' },
    });
    expect(network && payoutTermsOf(network)).toEqual({
      maxOpenNonces: 16,
      minPriorityFeePerGas: 1n,
      maxPriorityFeePerGas: 3_000_000_000n,
      maxFeePerGas: 200_000_000_000n,
      bumpAfterMs: 45_000,
      lowGasBaseUnits: 50_000_000_000_000_000n,
      lowBalance: new Map([['USDT', 1_000_500_000n]]),
      float: new Map([['USDT', 50_000_000_000n]]),
    });
  });

  test('have every contradiction named', () => {
    expect(
      mistakesOf({
        ...PAYOUTS,
        minPriorityFeePerGas: '5',
        maxPriorityFeePerGas: '4',
        maxFeePerGas: '3',
        lowBalance: { DAI: '1' },
        float: { USDT: '1.1234567' },
      }),
    ).toEqual([
      '/networks/0 (ETH)/payouts maxPriorityFeePerGas must not be less than minPriorityFeePerGas',
      '/networks/0 (ETH)/payouts maxFeePerGas must not be less than maxPriorityFeePerGas',
      '/networks/0 (ETH)/payouts lowBalance names DAI, which is no token of the network',
      '/networks/0 (ETH)/payouts float of USDT is not an amount',
    ]);
    expect(
      mistakesOf({
        ...PAYOUTS,
        minPriorityFeePerGas: '0',
        maxPriorityFeePerGas: '0',
        maxFeePerGas: '0',
      }),
    ).toEqual(['/networks/0 (ETH)/payouts maxFeePerGas must not be 0']);
  });

  test.each([
    { ...PAYOUTS, maxFeePerGas: 1 },
    { ...PAYOUTS, maxFeePerGas: '-1' },
    { ...PAYOUTS, maxFeePerGas: '1.5' },
    { ...PAYOUTS, maxOpenNonces: 0 },
    { ...PAYOUTS, bumpAfterSeconds: 0 },
    { ...PAYOUTS, maxGas: 20_999 },
    { ...PAYOUTS, maxGas: 16_777_217 },
    { ...PAYOUTS, bumpAfter: 3 },
    { ...PAYOUTS, lowBalance: { USDT: 5 } },
    { maxOpenNonces: 1 },
  ])('that break the schema are refused: %j', (payouts) => {
    expect(mistakesOf(payouts).length).toBeGreaterThan(0);
  });

  test('of another family are refused', () => {
    const tron = { chain: 'TRON', family: 'TRON', chainId: undefined };
    expect(mistakesOf(PAYOUTS, tron)).toEqual([
      '/networks/0 (TRON)/payouts is known of the EVM family alone',
    ]);
  });
});
