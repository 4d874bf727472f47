import { describe, expect, it } from 'vitest';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { parsePolicy } from './parse-policy.ts';

const KEY = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a';
const OTHER_KEY = '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c';
const COLD = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const RECEIVER = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';

const token = (symbol: string, contract: string | null, decimals: number) => ({
  symbol,
  contract,
  decimals,
  displayDecimals: 2,
  minAmount: null,
  maxAmount: null,
});
const native = { nativeSymbol: 'ETH', nativeDecimals: 18 };
const networks = [
  {
    chain: 'ETH',
    family: 'EVM',
    ...native,
    tokens: [token('USDT', '0xdAC17F958D2ee523a2206206994597C13D831ec7', 6)],
  },
  { chain: 'BSC', family: 'EVM', tokens: [token('USDT', `0x${'5'.repeat(40)}`, 18), token('BNB', null, 18)] },
  { chain: 'TRON', family: 'TRON', nativeSymbol: 'TRX', nativeDecimals: 6, tokens: [token('USDT', 'T', 6)] },
] as unknown as readonly NetworkConfig[];
const surroundings = { networks, codecs: [evmAddressCodec] };

const limits = {
  maxPerPayout: '5000',
  maxPerHour: '20000',
  maxPerDay: '100000.5',
  maxPerMerchantPerDay: '50000',
};
const example = {
  version: 1,
  chains: {
    ETH: {
      enabled: true,
      coldAddress: COLD,
      assets: { USDT: { ...limits, approvalAbove: '1000', float: '50000' } },
    },
    BSC: { enabled: false, assets: { USDT: limits, BNB: { ...limits, approvalAbove: '0' } } },
  },
  allow: [{ family: 'EVM', address: RECEIVER, since: '2026-11-20T00:00:00Z', note: 'the bank' }],
  deny: [{ family: 'EVM', address: `0x${'d'.repeat(40)}` }],
  coolingHours: 12,
  approvers: [
    { name: 'alice', publicKey: KEY },
    { name: 'bob', publicKey: OTHER_KEY },
  ],
  approvalsRequired: 2,
  approvalWaitHours: 1.5,
};

const parse = (file: unknown) => parsePolicy(JSON.stringify(file), surroundings);

function mistakesOf(file: unknown): readonly string[] {
  try {
    parsePolicy(typeof file === 'string' ? file : JSON.stringify(file), surroundings);
  } catch (error) {
    expect(error).toMatchObject({ code: 'POLICY_INVALID' });
    const { context, message } = error as { context: { mistakes: readonly string[] }; message: string };
    for (const mistake of context.mistakes) expect(message).toContain(mistake);
    expect(message).not.toContain('\n');
    return context.mistakes;
  }
  return [];
}

describe('parsePolicy', () => {
  it('converts amounts to base units of each chain and addresses to canonical form', () => {
    const policy = parse(example);
    expect(policy.chains.get('ETH')).toEqual({
      enabled: true,
      coldAddress: COLD.toLowerCase(),
      sweep: undefined,
      assets: new Map([
        [
          'USDT',
          {
            contract: '0xdac17f958d2ee523a2206206994597c13d831ec7',
            decimals: 6,
            displayDecimals: 2,
            maxPerPayoutBaseUnits: 5_000_000_000n,
            maxPerHourBaseUnits: 20_000_000_000n,
            maxPerDayBaseUnits: 100_000_500_000n,
            maxPerMerchantPerDayBaseUnits: 50_000_000_000n,
            approvalAboveBaseUnits: 1_000_000_000n,
            floatBaseUnits: 50_000_000_000n,
            sweepMinBaseUnits: undefined,
          },
        ],
      ]),
    });
    const bsc = policy.chains.get('BSC')!;
    expect(bsc.enabled).toBe(false);
    expect(bsc.assets.get('USDT')).toMatchObject({
      maxPerPayoutBaseUnits: 5_000n * 10n ** 18n,
      approvalAboveBaseUnits: undefined,
      floatBaseUnits: undefined,
    });
    expect(bsc.assets.get('BNB')).toMatchObject({ contract: null, approvalAboveBaseUnits: 0n });
    expect(policy.allow.get('EVM')).toEqual(
      new Map([[RECEIVER.toLowerCase(), { since: new Date('2026-11-20T00:00:00Z') }]]),
    );
    expect(policy.deny.get('EVM')).toEqual(new Set([`0x${'d'.repeat(40)}`]));
    expect(policy).toMatchObject({
      coolingMs: 12 * 3_600_000,
      approvalsRequired: 2,
      approvalWaitMs: 90 * 60_000,
    });
  });

  it('defaults to a day of cooling, one approval and a day of waiting for it', () => {
    const { coolingHours: _, approvalsRequired: __, approvalWaitHours: ___, allow: ____, ...rest } = example;
    expect(parse(rest)).toMatchObject({
      coolingMs: 86_400_000,
      approvalsRequired: 1,
      approvalWaitMs: 86_400_000,
      allow: new Map(),
    });
  });

  describe('sweep section', () => {
    const sweep = { nativePrice: '2500.5', maxTopUp: '0.01', maxNativePerDay: '0.5' };
    const sweeping = (given: object, cold: object = { coldAddress: COLD }) => ({
      version: 1,
      chains: { ETH: { enabled: true, ...cold, sweep: { ...sweep, ...given }, assets: {} } },
    });

    it('converts prices, budgets and ages, and defaults to cautious bounds', () => {
      expect(parse(sweeping({})).chains.get('ETH')?.sweep).toEqual({
        nativePrice: { units: 2_500_500_000_000_000_000_000n, scale: 18 },
        maxTopUpBaseUnits: 10n ** 16n,
        maxNativePerDayBaseUnits: 5n * 10n ** 17n,
        maxCostBps: 200,
        maxGasPriceBaseUnits: undefined,
        minAgeMs: 3_600_000,
        maxAgeMs: 7 * 86_400_000,
        batchSize: 20,
        stake: false,
        rent: false,
        maxRentPerOrderBaseUnits: 10n ** 16n,
        maxRentPerDayBaseUnits: 5n * 10n ** 17n,
        gasless: true,
      });
      const given = {
        maxCostShare: '0.1',
        maxGasPrice: '30.5',
        minAgeMinutes: 0,
        maxAgeHours: 1,
        batchSize: 100,
      };
      expect(parse(sweeping(given)).chains.get('ETH')?.sweep).toMatchObject({
        maxCostBps: 1_000,
        maxGasPriceBaseUnits: 30_500_000_000n,
        minAgeMs: 0,
        maxAgeMs: 3_600_000,
        batchSize: 100,
      });
    });

    it.each<[string, object, string]>([
      ['a price of zero', { nativePrice: '0' }, '/chains/ETH/sweep/nativePrice must not be zero'],
      ['a share of zero', { maxCostShare: '0' }, '/chains/ETH/sweep/maxCostShare must not be zero'],
      [
        'too fine a top-up',
        { maxTopUp: `0.${'0'.repeat(18)}1` },
        '/chains/ETH/sweep/maxTopUp has more than 18',
      ],
      ['ages that cross', { minAgeMinutes: 61, maxAgeHours: 1 }, '/chains/ETH/sweep/maxAgeHours is less'],
      ['energy on EVM', { stake: true }, '/chains/ETH/sweep/stake is only for TRON'],
      ['no fee on EVM', { gasless: false }, '/chains/ETH/sweep/gasless is only for SUI'],
      ['rent without a seller', { maxRentPerDay: '1' }, '/chains/ETH/sweep/maxRentPerDay needs rent: true'],
      ['rent of zero', { maxRentPerOrder: '0' }, '/chains/ETH/sweep/maxRentPerOrder must not be zero'],
      ['a share above all', { maxCostShare: '1.5' }, '/chains/ETH/sweep/maxCostShare must match pattern'],
      ['an empty batch', { batchSize: 0 }, '/chains/ETH/sweep/batchSize must be >= 1'],
    ])('rejects a sweep section with %s', (_, given, words) => {
      expect(mistakesOf(sweeping(given)).join('; ')).toContain(words);
    });

    it('rejects a sweep section without a cold address', () => {
      expect(mistakesOf(sweeping({}, {}))).toEqual(['/chains/ETH/sweep needs /chains/ETH/coldAddress']);
    });
  });

  it('rejects a policy with all violations of its schema', () => {
    const mistakes = mistakesOf({
      version: 2,
      chains: {
        doge: { enabled: true, assets: {} },
        ETH: { enabled: 'yes', assets: { USDT: { maxPerHour: 5 } } },
      },
      allow: [{ family: 'EVM', address: RECEIVER, since: '2026-02-30T00:00:00Z' }],
      deny: [{ family: 'BTC' }],
      coolingHours: -1,
      approvers: [{ name: 'alice', publicKey: 'short' }],
      approvalsRequired: 0,
      approvalWaitHours: 0,
      surprise: true,
    });
    for (const words of [
      '/ must not have surprise',
      '/version must be equal to constant',
      '/chains must not have doge: it is not a chain',
      '/chains/ETH/enabled must be boolean',
      "/chains/ETH/assets/USDT must have required property 'maxPerPayout'",
      "/chains/ETH/assets/USDT must have required property 'maxPerMerchantPerDay'",
      '/chains/ETH/assets/USDT/maxPerHour must be string',
      '/allow/0/since must match format "date-time"',
      "/deny/0 must have required property 'address'",
      '/deny/0/family must be equal to one of the allowed values',
      '/coolingHours must be >= 0',
      '/approvers/0/publicKey must match pattern "^[0-9a-f]{64}$"',
      '/approvalsRequired must be >= 1',
      '/approvalWaitHours must be > 0',
    ])
      expect(mistakes).toContain(words);
  });

  it('rejects a policy with all conflicts with the network file, the curve or itself', () => {
    const eth = example.chains.ETH;
    expect(
      mistakesOf({
        ...example,
        chains: {
          ETH: {
            enabled: true,
            coldAddress: COLD.toLowerCase().replace('0x70', '0x7'),
            assets: {
              USDT: {
                ...eth.assets.USDT,
                maxPerPayout: '0.0000001',
                maxPerHour: '0',
                maxPerDay: `${'9'.repeat(30)}.1`,
              },
              usdt: limits,
              USDC: limits,
            },
          },
          POLYGON: { enabled: true, assets: {} },
          TRON: { enabled: true, coldAddress: 'T', assets: { USDT: limits } },
        },
        allow: [example.allow[0], { ...example.allow[0], address: RECEIVER.toLowerCase() }],
        deny: [{ family: 'EVM', address: RECEIVER.replace('F', 'f') }],
        approvers: [
          { name: 'alice', publicKey: KEY },
          { name: 'alice', publicKey: KEY },
          { name: 'eve', publicKey: `01${'0'.repeat(62)}` },
        ],
        approvalsRequired: 4,
      }),
    ).toEqual([
      '/chains/ETH/assets/USDT/maxPerPayout has more than the 6 decimals of USDT',
      '/chains/ETH/assets/USDT/maxPerHour must not be zero: remove the token to forbid its payouts',
      '/chains/ETH/assets/USDT/maxPerDay is not an amount',
      '/chains/ETH/assets/usdt is not a token of ETH in the network file',
      '/chains/ETH/assets/USDC is not a token of ETH in the network file',
      '/chains/ETH/coldAddress is not an address of family EVM',
      '/chains/POLYGON is not in the network file',
      '/chains/TRON/coldAddress: no address codec of family TRON is configured',
      '/allow/1 repeats an address',
      '/deny/0/address is not an address of family EVM',
      '/approvers/1 repeats the name of another approver',
      '/approvers/1 repeats the key of another approver',
      '/approvers/2/publicKey is not an ed25519 public key',
      '/approvers has fewer entries than approvalsRequired, 4',
    ]);
  });

  it.each<[string, unknown, RegExp]>([
    ['text that is no JSON', '{', /it is not JSON/],
    ['an array', '[]', /must be object/],
    [
      'an empty list of allowed addresses',
      { ...example, allow: [] },
      /allow must NOT have fewer than 1 items/,
    ],
    [
      'times without UTC',
      { ...example, allow: [{ ...example.allow[0], since: '2026-11-20T00:00:00+02:00' }] },
      /end in Z/,
    ],
    [
      'a leap second as a time',
      { ...example, allow: [{ ...example.allow[0], since: '2030-12-31T23:59:60Z' }] },
      /allow\/0\/since is not a valid time/,
    ],
    [
      'a limit that occurs twice',
      JSON.stringify(example).replace('"maxPerHour"', '"maxPerHour":"1","maxPerHour"'),
      /an object has the same name twice/,
    ],
    ['a policy without chains', { ...example, chains: {} }, /chains must NOT have fewer than 1 properties/],
  ])('is refused: %s', (_, file, words) => {
    expect(mistakesOf(file).join('; ')).toMatch(words);
  });
});
