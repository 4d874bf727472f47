import { describe, expect, test } from 'vitest';
import type { NetworkConfig, PayoutsConfig, SuiPayoutsConfig, TronPayoutsConfig } from './network-config.ts';
import { parseNetworkFile } from './parse-network-file.ts';
import { payoutTermsOf, suiPayoutTermsOf, tronPayoutTermsOf } from './payout-terms.ts';

const PAYOUTS: PayoutsConfig = {
  maxOpenNonces: 16,
  minPriorityFeePerGas: '1',
  maxPriorityFeePerGas: '3000000000',
  maxFeePerGas: '200000000000',
  bumpAfterSeconds: 45,
};
const TRON_PAYOUTS: TronPayoutsConfig = {
  maxOpenPayouts: 50,
  expirationSeconds: 90,
  maxFeeLimitSun: '100000000',
  energyMarginPercent: 30,
};
const SUI_PAYOUTS: SuiPayoutsConfig = {
  maxOpenPayouts: 300,
  maxGasBudgetMist: '50000000',
  maxGasPriceMist: '5000',
};
const TRON = {
  chain: 'TRON',
  family: 'TRON',
  chainId: undefined,
  genesisId: '0x2b6653dc',
  bloom: undefined,
  confirmations: 'finalized',
  tokens: [
    {
      symbol: 'USDT',
      contract: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
      decimals: 6,
      displayDecimals: 2,
      minAmount: null,
      maxAmount: null,
    },
  ],
};
const SUI = {
  ...TRON,
  chain: 'SUI',
  family: 'SUI',
  genesisId: '4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S',
  confirmations: 1,
  tokens: [{ ...TRON.tokens[0]!, contract: `0x${'3'.repeat(64)}::usdt::USDT` }],
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

describe('payout settings', () => {
  test('payout terms are undefined without payout settings', () => {
    const network = parse(undefined);
    expect(network?.payouts).toBeUndefined();
    expect(network && payoutTermsOf(network)).toBeUndefined();
  });

  test('payout terms of an EVM network are numbers', () => {
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

  test('all contradictions of payout settings are reported', () => {
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
      '/networks/0 (ETH)/payouts lowBalance names DAI, which is not a token of the network',
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
  ])('payout settings that break the schema are refused: %j', (payouts) => {
    expect(mistakesOf(payouts).length).toBeGreaterThan(0);
  });

  test('payout settings of another family are refused', () => {
    expect(mistakesOf(PAYOUTS, TRON)).toContain(
      "/networks/0/payouts must have required property 'maxOpenPayouts'",
    );
    expect(mistakesOf(TRON_PAYOUTS)).toContain(
      "/networks/0/payouts must have required property 'maxOpenNonces'",
    );
    expect(mistakesOf(PAYOUTS, SUI)).toContain(
      "/networks/0/payouts must have required property 'maxGasBudgetMist'",
    );
  });
});

describe('TRON payout settings', () => {
  test('payout terms of a TRON network are numbers', () => {
    const network = parse(
      {
        ...TRON_PAYOUTS,
        lowGasBaseUnits: '50000000',
        lowBalance: { usdt: '1000.5' },
        float: { USDT: '50000' },
      },
      TRON,
    )!;
    expect(payoutTermsOf(network)).toBeUndefined();
    expect(tronPayoutTermsOf(network)).toEqual({
      maxOpenPayouts: 50,
      expirationMs: 90_000,
      maxFeeLimitSun: 100_000_000n,
      energyMarginPercent: 30,
      lowGasBaseUnits: 50_000_000n,
      lowBalance: new Map([['USDT', 1_000_500_000n]]),
      float: new Map([['USDT', 50_000_000_000n]]),
    });
    expect(tronPayoutTermsOf(parse(PAYOUTS)!)).toBeUndefined();
    expect(tronPayoutTermsOf(parse(undefined, TRON)!)).toBeUndefined();
  });

  test.each([
    { ...TRON_PAYOUTS, maxFeeLimitSun: 1 },
    { ...TRON_PAYOUTS, maxFeeLimitSun: '0' },
    { ...TRON_PAYOUTS, maxFeeLimitSun: '15000000001' },
    { ...TRON_PAYOUTS, maxFeeLimitSun: '-5' },
    { ...TRON_PAYOUTS, expirationSeconds: 29 },
    { ...TRON_PAYOUTS, expirationSeconds: 3_601 },
    { ...TRON_PAYOUTS, energyMarginPercent: -1 },
    { ...TRON_PAYOUTS, maxOpenPayouts: 0 },
    { ...TRON_PAYOUTS, maxOpenNonces: 5 },
    { ...TRON_PAYOUTS, lowBalance: { DAI: '1' } },
  ])('TRON payout settings that break a rule are refused: %j', (payouts) => {
    expect(mistakesOf(payouts, TRON).length).toBeGreaterThan(0);
  });
});

describe('SUI payout settings', () => {
  test('payout terms of a SUI network are numbers', () => {
    const network = parse({ ...SUI_PAYOUTS, lowGasBaseUnits: '5', float: { USDT: '1' } }, SUI)!;
    expect(payoutTermsOf(network)).toBeUndefined();
    expect(tronPayoutTermsOf(network)).toBeUndefined();
    expect(suiPayoutTermsOf(network)).toEqual({
      maxOpenPayouts: 300,
      maxGasBudgetMist: 50_000_000n,
      maxGasPriceMist: 5_000n,
      lowGasBaseUnits: 5n,
      lowBalance: new Map(),
      float: new Map([['USDT', 1_000_000n]]),
    });
    expect(suiPayoutTermsOf(parse(PAYOUTS)!)).toBeUndefined();
    expect(suiPayoutTermsOf(parse(TRON_PAYOUTS, TRON)!)).toBeUndefined();
    expect(suiPayoutTermsOf(parse(undefined, SUI)!)).toBeUndefined();
  });

  test.each([
    [{ ...SUI_PAYOUTS, maxGasPriceMist: '0' }, /maxGasPriceMist must not be 0/],
    [{ ...SUI_PAYOUTS, maxGasBudgetMist: '4999999' }, /maxGasBudgetMist must be 1000 times/],
    [{ ...SUI_PAYOUTS, maxGasBudgetMist: '50000000001' }, /maxGasBudgetMist must be 1000 times/],
    [{ ...SUI_PAYOUTS, lowBalance: { ABC: '1' } }, /ABC, which is not a token/],
  ])('SUI payout settings that contradict the chain are refused: %j', (payouts, mistake) => {
    expect(mistakesOf(payouts, SUI)).toEqual([expect.stringMatching(mistake)]);
  });
});
