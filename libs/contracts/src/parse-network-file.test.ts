import { describe, expect, it } from 'vitest';
import { headStaleSecondsOf, restIntervalMsOf, rpcEndpointsOf } from './network-config.ts';
import { parseNetworkFile } from './parse-network-file.ts';

const USDT = {
  symbol: 'USDT',
  contract: '0xdAC17F958D2ee523a2206206994597C13D831ec7',
  decimals: 6,
  displayDecimals: 2,
  minAmount: '0.01',
  maxAmount: null,
};
const ETH = {
  chain: 'ETH',
  family: 'EVM',
  enabled: true,
  chainId: 1,
  name: 'Ethereum',
  rpcUrls: ['https://one.example/secret-key', { url: 'https://two.example', requestsPerSecond: 25 }],
  nativeSymbol: 'ETH',
  nativeDecimals: 18,
  confirmations: 12,
  blockTimeMs: 12_000,
  pollIntervalMs: 2_000,
  reorgWindow: 128,
  maxBlockRange: 100,
  bloom: true,
  tokens: [USDT],
};
const BSC = { ...ETH, chain: 'BSC', chainId: 56, confirmations: 'finalized', blockTimeMs: 450 };

const ACME = { ...ETH, chain: 'ACME_L2', chainId: 31_337, kind: 'test', name: 'Acme L2' };

const SAFE = {
  confirmations: 'finalized',
  finality: { tag: 'safe', staleSeconds: 3_600 },
  blockTimeMs: 2_000,
  reorgWindow: 900,
};
const PAYOUTS = {
  maxOpenNonces: 8,
  minPriorityFeePerGas: '0',
  maxPriorityFeePerGas: '1',
  maxFeePerGas: '2',
  bumpAfterSeconds: 60,
};

const TRON = {
  ...ETH,
  chain: 'TRON',
  family: 'TRON',
  chainId: undefined,
  bloom: undefined,
  genesisId: '0x2b6653dc',
  confirmations: 'finalized',
  tokens: [{ ...USDT, contract: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t' }],
};

function parse(networks: readonly object[], environment?: Record<string, string>) {
  return parseNetworkFile(JSON.stringify({ networks }), 'networks.json', environment);
}
function mistakes(networks: readonly object[], environment?: Record<string, string>): readonly string[] {
  try {
    parse(networks, environment);
  } catch (error) {
    expect(error).toMatchObject({ code: 'NETWORKS_INVALID', retryable: false });
    const message = (error as Error).message;
    expect(message).not.toMatch(/secret/);
    return message
      .split('\n')
      .slice(1)
      .map((line) => line.trim());
  }
  return [];
}

describe('network file', () => {
  it('a network file is returned as written', () => {
    const networks = parse([
      ETH,
      { ...BSC, finality: { staleSeconds: 30, minDepth: 15, fallbackDepth: 240 } },
    ]);
    expect(networks[0]).toEqual(ETH);
    expect(networks[1]?.finality).toEqual({ staleSeconds: 30, minDepth: 15, fallbackDepth: 240 });
  });

  it('a chain that collects may credit safe blocks', () => {
    expect(parse([{ ...ACME, ...SAFE }])[0]?.finality).toEqual(SAFE.finality);
  });

  it('an EVM chain needs no preset, and the environment names its endpoints', () => {
    const [acme] = parse([ACME], { ACME_L2_RPC_URLS: 'https://own.example' });
    expect(acme).toEqual({ ...ACME, rpcUrls: ['https://own.example'] });
  });

  it('an endpoint is a URL or an object with limits', () => {
    expect(rpcEndpointsOf(parse([ETH])[0]!)).toEqual([
      { url: 'https://one.example/secret-key' },
      { url: 'https://two.example', requestsPerSecond: 25 },
    ]);
  });

  it('the head is stale after 20 block times, at least 30 s, or as configured', () => {
    expect(headStaleSecondsOf(parse([ETH])[0]!)).toBe(240);
    expect(headStaleSecondsOf(parse([BSC])[0]!)).toBe(30);
    expect(headStaleSecondsOf(parse([{ ...BSC, headStaleSeconds: 7 }])[0]!)).toBe(7);
  });

  it('a scanner rests for 30 s, its poll interval if that is longer, or as configured', () => {
    expect(restIntervalMsOf(parse([ETH])[0]!)).toBe(30_000);
    expect(restIntervalMsOf(parse([{ ...ETH, pollIntervalMs: 40_000 }])[0]!)).toBe(40_000);
    expect(restIntervalMsOf(parse([{ ...ETH, restIntervalMs: 60_000 }])[0]!)).toBe(60_000);
    expect(mistakes([{ ...ETH, restIntervalMs: 60_001 }])).toContain(
      '/networks/0/restIntervalMs must be <= 60000',
    );
    expect(mistakes([{ ...ETH, restIntervalMs: 1_999 }])).toContain(
      '/networks/0 (ETH)/restIntervalMs must not be less than pollIntervalMs',
    );
  });

  it('aloneAfterSeconds is a positive number or never', () => {
    expect(parse([{ ...ETH, aloneAfterSeconds: 90 }])[0]?.aloneAfterSeconds).toBe(90);
    expect(parse([{ ...ETH, aloneAfterSeconds: 'never' }])[0]?.aloneAfterSeconds).toBe('never');
    expect(mistakes([{ ...ETH, aloneAfterSeconds: 0 }])).toContain(
      '/networks/0/aloneAfterSeconds must be >= 1',
    );
  });

  it('a token with a null contract is the native coin', () => {
    const coin = { ...USDT, symbol: 'ETH', contract: null, decimals: 18 };
    expect(parse([{ ...ETH, tokens: [USDT, coin] }])[0]?.tokens[1]?.contract).toBeNull();
  });

  it.each<[string, object[], string[]]>([
    [
      'a missing block time',
      [{ ...ETH, blockTimeMs: undefined }],
      ["/networks/0 must have required property 'blockTimeMs'"],
    ],
    [
      'an endpoint with unknown properties',
      [{ ...ETH, rpcUrls: [{ url: 'https://one.example', rps: 3 }, 7] }],
      [
        '/networks/0/rpcUrls/0 must NOT have additional properties',
        '/networks/0/rpcUrls/1 must be string,object',
      ],
    ],
    [
      'finality with a number of confirmations',
      [{ ...ETH, finality: { staleSeconds: 30 } }],
      ["/networks/0 (ETH)/finality needs confirmations 'finalized'"],
    ],
    [
      'tiers of amounts with the finalized tag',
      [{ ...BSC, confirmationsByAmount: [{ fromAmount: '1000', confirmations: 20 }] }],
      ["/networks/0 (BSC)/confirmationsByAmount is not allowed with confirmations 'finalized'"],
    ],
    [
      'the safe tag where a chain has no such blocks',
      [{ ...TRON, finality: { tag: 'safe', staleSeconds: 30 } }],
      ['/networks/0 (TRON)/finality tag safe is not allowed for TRON'],
    ],
    [
      'the safe tag with what trusts its blocks too much',
      [{ ...ACME, ...SAFE, finality: { ...SAFE.finality, fallbackDepth: 900 }, payouts: PAYOUTS }],
      [
        '/networks/0 (ACME_L2)/finality fallbackDepth is not allowed with the tag safe: only safe blocks credit',
        "/networks/0 (ACME_L2)/payouts is not allowed with the finality tag safe: its blocks do not prove that a payout failed. Remove the tag, so that 'finalized' decides, or remove payouts",
      ],
    ],
    [
      'the safe tag with a window of less than 30 minutes',
      [{ ...ACME, ...SAFE, reorgWindow: 899 }],
      [
        '/networks/0 (ACME_L2)/reorgWindow must be at least 900 with the finality tag safe: 30 minutes of blocks',
      ],
    ],
    [
      'a fallback depth below the minimum depth',
      [{ ...BSC, finality: { staleSeconds: 30, minDepth: 16, fallbackDepth: 15 } }],
      ['/networks/0 (BSC)/finality fallbackDepth must not be less than minDepth'],
    ],
    [
      'an endpoint listed twice in different spellings',
      [{ ...ETH, rpcUrls: ['https://one.example', { url: 'HTTPS://ONE.example:443/' }] }],
      ['/networks/0 (ETH)/rpcUrls lists an endpoint twice'],
    ],
    [
      'texts that are not URLs',
      [{ ...ETH, rpcUrls: ['https://one.example', 'http://'], wsUrl: 'wss://[secret' }],
      [
        '/networks/0 (ETH)/rpcUrls/1 is not an http or https URL',
        '/networks/0 (ETH)/wsUrl is not a ws or wss URL',
      ],
    ],
    [
      'another family, a repeated chain, a missing chain id',
      [
        {
          ...ETH,
          family: 'SUI',
          chainId: undefined,
          bloom: undefined,
          genesisId: '4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S',
        },
        ETH,
        { ...BSC, chainId: undefined },
      ],
      [
        '/networks/0 (ETH) family must be EVM',
        '/networks/0 (ETH)/chainId must be 1, the one of ETH',
        '/networks/1 (ETH) is listed twice',
        '/networks/2 (BSC)/chainId must be 56, the one of BSC',
      ],
    ],
    [
      'one chain under two names, whose payments would count twice',
      [ETH, { ...BSC, chainId: 1 }],
      ['/networks/1 (BSC)/chainId must be 56, the one of BSC'],
    ],
    [
      'a test network with the id of a main network',
      [{ ...ETH, chain: 'ETH_SEPOLIA' }],
      ['/networks/0 (ETH_SEPOLIA)/chainId must be 11155111, the one of ETH_SEPOLIA'],
    ],
    [
      'a chain that is no preset without its identity',
      [{ ...ACME, chainId: undefined, kind: undefined }],
      [
        '/networks/0 (ACME_L2)/chainId is required: the answer of eth_chainId, as a number',
        '/networks/0 (ACME_L2)/kind is required for a chain that is no preset: "main" (real money) or "test"',
      ],
    ],
    [
      'a chain of another family that is no preset',
      [{ ...TRON, chain: 'TRON_SHASTA' }],
      ['/networks/0 (TRON_SHASTA) is not a TRON chain; use TRON or TRON_TEST'],
    ],
    [
      'a preset of another kind, a test network with the chain id of a main one',
      [
        { ...ETH, kind: 'test' },
        { ...ACME, chainId: 56 },
      ],
      [
        '/networks/0 (ETH)/kind must be main, or absent',
        '/networks/1 (ACME_L2)/kind must be main: 56 is the chain id of BSC',
      ],
    ],
    [
      'two chains with one chain id',
      [ACME, { ...ACME, chain: 'ACME' }],
      ['/networks/1 (ACME)/chainId is also the one of ACME_L2; remove one of the two'],
    ],
    [
      'a name of another form',
      [{ ...ACME, chain: 'acme-l2' }],
      ['/networks/0/chain must match pattern "^[A-Z][A-Z0-9_]{1,31}$"'],
    ],
    [
      'tokens with equal symbols or contracts',
      [
        {
          ...ETH,
          tokens: [
            USDT,
            { ...USDT, symbol: 'usdt' },
            { ...USDT, symbol: 'USDC', contract: USDT.contract.toLowerCase() },
          ],
        },
      ],
      [
        '/networks/0 (ETH)/tokens/1 (usdt) is listed twice',
        '/networks/0 (ETH)/tokens/1 (usdt) has the contract of USDT',
        '/networks/0 (ETH)/tokens/2 (USDC) has the contract of USDT',
      ],
    ],
    [
      'a wrong native coin, contract or number of decimals in a limit',
      [
        {
          ...ETH,
          tokens: [
            { ...USDT, contract: '0x12' },
            { ...USDT, symbol: 'BNB', contract: null, decimals: 18 },
            { ...USDT, symbol: 'USDC', contract: `0x${'1'.repeat(40)}`, minAmount: '0.0000001' },
            {
              ...USDT,
              symbol: 'USDD',
              contract: `0x${'2'.repeat(40)}`,
              minAmount: '0.01',
              dustBelow: '0.02',
            },
            { ...USDT, symbol: 'USDE', contract: `0x${'3'.repeat(40)}`, dustBelow: '0.0000001' },
          ],
        },
      ],
      [
        '/networks/0 (ETH)/tokens/0 (USDT) contract is not an EVM address',
        '/networks/0 (ETH)/tokens/1 (BNB) must have the symbol and decimals of the native coin ETH',
        '/networks/0 (ETH)/tokens/2 (USDC) minAmount is not an amount',
        '/networks/0 (ETH)/tokens/3 (USDD) dustBelow must not be more than minAmount',
        '/networks/0 (ETH)/tokens/4 (USDE) dustBelow is not an amount',
      ],
    ],
  ])('a network file is refused for %s', (_, networks, expected) => {
    expect(mistakes(networks)).toEqual(expected);
  });
});

describe('TRON network', () => {
  const tron = (overrides: object): readonly string[] => mistakes([{ ...TRON, ...overrides }]);

  it('a TRON network has a genesis id and optional solidity URLs', () => {
    const own = { ...TRON, rpcUrls: ['http://node:8090'], solidityUrls: ['http://node:8091'] };
    expect(parse([own])[0]).toMatchObject({ genesisId: '0x2b6653dc', solidityUrls: ['http://node:8091'] });
    expect(parse([{ ...TRON, chain: 'TRON_TEST', genesisId: '0xcd8690dc' }])).toHaveLength(1);
  });

  it('a TRON network is refused with the genesis id of another network', () => {
    expect(tron({ genesisId: '0xcd8690dc' })).toEqual([
      '/networks/0 (TRON)/genesisId must be 0x2b6653dc, the one of TRON',
    ]);
    expect(tron({ chain: 'TRON_TEST' })).toEqual(['/networks/0 (TRON_TEST)/genesisId is the one of TRON']);
    expect(tron({ genesisId: undefined })).toContain("/networks/0 must have required property 'genesisId'");
  });

  it('a TRON network accepts only finalized confirmations without a fallback depth', () => {
    expect(tron({ confirmations: 19 }).join()).toContain('/networks/0/confirmations');
    expect(tron({ finality: { staleSeconds: 60, fallbackDepth: 60 } })).toEqual([
      '/networks/0 (TRON)/finality fallbackDepth is not allowed for TRON: only solid blocks credit',
    ]);
    expect(tron({ finality: { staleSeconds: 60, minDepth: 20 } })).toEqual([]);
  });

  it('settings of one family are refused in another', () => {
    for (const foreign of [{ chainId: 1 }, { bloom: true }, { wsUrl: 'wss://one.example' }])
      expect(tron(foreign).length).toBeGreaterThan(0);
    for (const foreign of [
      { genesisId: '0x2b6653dc' },
      { solidityUrls: ['https://one.example'] },
      { bloom: undefined },
    ])
      expect(mistakes([{ ...ETH, ...foreign }]).length).toBeGreaterThan(0);
    expect(tron({ tokens: [USDT] })).toEqual([
      '/networks/0 (TRON)/tokens/0 (USDT) contract is not a TRON address (T and 33 characters)',
    ]);
  });

  it('each endpoint needs a solidity URL if any is set, also in the environment', () => {
    expect(tron({ solidityUrls: ['http://node:8091'] })).toEqual([
      '/networks/0 (TRON)/solidityUrls must have one URL for each of rpcUrls',
    ]);
    const solidityUrls = ['http://a:8091', 'http://b:8091'];
    const replaced = parse([{ ...TRON, solidityUrls }], { TRON_RPC_URLS: 'https://key@own.example' })[0]!;
    expect(replaced.rpcUrls).toEqual(['https://key@own.example']);
    expect(replaced.solidityUrls).toBeUndefined();
    const environment = { TRON_RPC_URLS: 'http://own:8090', TRON_SOLIDITY_URLS: 'http://own:8091' };
    expect(parse([TRON], environment)[0]?.solidityUrls).toEqual(['http://own:8091']);
    expect(
      mistakes([TRON, ETH], { TRON_SOLIDITY_URLS: 'x', ETH_SOLIDITY_URLS: 'http://a,http://b' }),
    ).toEqual([
      'TRON_SOLIDITY_URLS (item 1) is not an http or https URL',
      'TRON_SOLIDITY_URLS must have one URL for each endpoint, in the same order: it has 1, rpcUrls has 2',
      'ETH_SOLIDITY_URLS is not allowed for the EVM family',
    ]);
    expect(mistakes([TRON], { ...environment, TRON_RPC_URLS: 'http://a:8090,http://b:8090' })).toEqual([
      'TRON_SOLIDITY_URLS must have one URL for each endpoint, in the same order: it has 1, TRON_RPC_URLS has 2',
    ]);
  });
});

describe('environment of a network file', () => {
  it('a variable of the environment replaces only the endpoints of its chain', () => {
    const networks = parse([ETH, BSC], {
      ETH_RPC_URLS: ' https://own.example/k1, http://127.0.0.1:8545 ',
      ETH_WS_URL: 'wss://own.example/ws',
      BSC_RPC_URLS: '',
      BSC_WS_URL: ' ',
      POLYGON_RPC_URLS: 'of a chain that this file does not have',
    });
    expect(networks[0]).toMatchObject({
      rpcUrls: ['https://own.example/k1', 'http://127.0.0.1:8545'],
      wsUrl: 'wss://own.example/ws',
    });
    expect(networks[1]).toEqual(BSC);
  });

  it('mistakes of environment and file are reported together, without any URL', () => {
    const environment = {
      ETH_RPC_URLS: 'https://own.example,own.example/secret',
      ETH_WS_URL: 'https://own.example/secret',
      BSC_RPC_URLS: 'https://own.example/secret,https://own.example/secret',
    };
    expect(mistakes([ETH, { ...BSC, chainId: undefined }], environment)).toEqual([
      'ETH_RPC_URLS (item 2) is not an http or https URL',
      'ETH_WS_URL is not a ws or wss URL',
      'BSC_RPC_URLS lists an endpoint twice',
      '/networks/1 (BSC)/chainId must be 56, the one of BSC',
    ]);
  });
});
