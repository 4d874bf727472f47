import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import { rpcEndpointsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import { parseNetworkFile } from '@opentill/contracts/parse-network-file';
import { findSourceRisks } from '@opentill/contracts/source-risks';
import { payoutTermsOf, tronPayoutTermsOf } from '@opentill/contracts/payout-terms';
import { PRESET_CHAINS, PRESETS, type Chain } from '@opentill/domain/chains';
import { CHECKOUT } from '../src/read-markdown.ts';

// Copied by hand from the issuers' lists: with a wrong contract or decimals, the gateway would credit worthless tokens.
const CHAIN_IDS: Partial<Record<Chain, number>> = {
  ETH: 1,
  BSC: 56,
  POLYGON: 137,
  AVAX_C_CHAIN: 43_114,
  ETH_SEPOLIA: 11_155_111,
  BSC_TEST: 97,
  POLYGON_AMOY: 80_002,
  AVAX_FUJI_TEST: 43_113,
  BASE: 8_453,
  BASE_SEPOLIA: 84_532,
  ARBITRUM: 42_161,
  ARBITRUM_SEPOLIA: 421_614,
  OPTIMISM: 10,
  OPTIMISM_SEPOLIA: 11_155_420,
};
const TOKENS: Partial<
  Record<Chain, Readonly<Record<string, readonly [contract: string, decimals: number]>>>
> = {
  ETH: {
    USDT: ['0xdac17f958d2ee523a2206206994597c13d831ec7', 6],
    USDC: ['0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48', 6],
  },
  BSC: {
    USDT: ['0x55d398326f99059ff775485246999027b3197955', 18],
    USDC: ['0x8ac76a51cc950d9822d68b83fe1ad97b32cd580d', 18],
  },
  POLYGON: {
    USDT: ['0xc2132d05d31c914a87c6611c10748aeb04b58e8f', 6],
    USDC: ['0x3c499c542cef5e3811e1192ce70d8cc03d5c3359', 6],
  },
  AVAX_C_CHAIN: {
    USDT: ['0x9702230a8ea53601f5cd2dc00fdbc13d4df4a8c7', 6],
    USDC: ['0xb97ef9ef8734c71904d8002f8b6bc66dd9c48a6e', 6],
  },
  ETH_SEPOLIA: {
    USDT: ['0xaa8e23fb1079ea71e0a56f48a2aa51851d8433d0', 6],
    USDC: ['0x1c7d4b196cb0c7b01d743fbc6116a902379c7238', 6],
  },
  BSC_TEST: {
    USDT: ['0x337610d27c682e347c9cd60bd4b3b107c9d34ddd', 18],
    USDC: ['0x64544969ed7ebf5f083679233325356ebe738930', 18],
  },
  POLYGON_AMOY: { USDC: ['0x41e94eb019c0762f9bfcf9fb1e58725bfb0e7582', 6] },
  AVAX_FUJI_TEST: { USDC: ['0x5425890298aed601595a70ab815c96711a31bc65', 6] },
  // Circle's list (developers.circle.com/stablecoins/usdc-contract-addresses). Not USDbC or USDC.e, which are bridged.
  BASE: { USDC: ['0x833589fcd6edb6e08f4c7c32d4f71b54bda02913', 6] },
  BASE_SEPOLIA: { USDC: ['0x036cbd53842c5426634e7929541ec2318f3dcf7e', 6] },
  // USDT of Arbitrum's bridge, which Tether upgraded in place to USDT0.
  ARBITRUM: {
    USDT: ['0xfd086bc7cd5c481dcc9c85ebe478a1c0b69fcbb9', 6],
    USDC: ['0xaf88d065e77c8cc2239327c5edb3a432268e5831', 6],
  },
  ARBITRUM_SEPOLIA: { USDC: ['0x75faf114eafb1bdbe2f0316df893fd58ce46aa4d', 6] },
  OPTIMISM: { USDC: ['0x0b2c639c533813f4aa9d7837caf62653d097ff85', 6] },
  OPTIMISM_SEPOLIA: { USDC: ['0x5fd84259d66cd46123540766be93dfe6d43130d7', 6] },
};

const read = (name: string): readonly NetworkConfig[] => {
  const file = join('deploy', 'networks', `${name}.json`);
  return parseNetworkFile(readFileSync(join(CHECKOUT, file), 'utf8'), file);
};
const mainnet = read('mainnet');
const testnet = read('testnet');
const shasta = read('shasta');
const shipped = [...mainnet, ...testnet].filter(({ family }) => family === 'EVM');
const each = shipped.map((network) => [network.chain, network] as const);

describe.each([
  ['mainnet', 'main', mainnet],
  ['testnet', 'test', testnet],
] as const)('deploy/networks/%s.json', (_, kind, networks) => {
  it('has every chain of its kind once', () => {
    const wanted = PRESET_CHAINS.filter((chain) => PRESETS[chain].kind === kind);
    expect(networks.map(({ chain }) => chain)).toEqual(wanted);
  });

  it('names no source that the signer rejects', () => {
    expect(findSourceRisks(networks.map((network) => ({ ...network, enabled: true })))).toEqual([]);
  });
});

/** Minimum tips of the networks' nodes (PIP-35, BNB's validators), in wei. */
const LEAST_TIP: Partial<Record<Chain, bigint>> = {
  BSC: 50_000_000n,
  POLYGON: 25_000_000_000n,
  BSC_TEST: 100_000_000n,
  POLYGON_AMOY: 25_000_000_000n,
};

describe.each(each)('%s', (chain, network) => {
  it('has payout fees that its nodes accept, below 0.2 coins per payout', () => {
    const terms = payoutTermsOf(network);
    expect(terms?.minPriorityFeePerGas).toBeGreaterThanOrEqual(LEAST_TIP[chain] ?? 1n);
    expect(terms?.maxOpenNonces).toBeLessThanOrEqual(64);
    // A transfer to a new receiver takes about 80,000 gas, margin included.
    const dearest = (terms?.maxFeePerGas ?? 0n) * 80_000n;
    expect(dearest).toBeGreaterThan(0n);
    expect(dearest).toBeLessThan(10n ** 18n / 5n);
    expect(terms?.lowGasBaseUnits).toBeGreaterThanOrEqual(dearest);
  });

  it('has the right chain id and tokens', () => {
    expect(network.chainId).toBe(CHAIN_IDS[chain]);
    const tokens = network.tokens.map(({ symbol, contract, decimals }) => [
      symbol,
      [contract?.toLowerCase(), decimals],
    ]);
    expect(Object.fromEntries(tokens)).toEqual(TOKENS[chain]);
  });

  it('charges for data where the chain is of the OP Stack', () => {
    expect(network.dataFee).toBe(/^(BASE|OPTIMISM)/.test(chain) ? 'op-stack' : undefined);
  });

  it('has contracts with a valid checksum', () => {
    for (const { contract } of network.tokens)
      expect(contract).toBe(evmAddressCodec.format(evmAddressCodec.parse(contract!.toLowerCase())!));
  });

  it('reads from two providers', () => {
    const providers = rpcEndpointsOf(network).map(({ url }) =>
      new URL(url).hostname.split('.').slice(-2).join('.'),
    );
    expect(new Set(providers).size).toBeGreaterThan(1);
    for (const { url } of rpcEndpointsOf(network)) expect(url).toMatch(/^https:/);
  });

  it('credits at a safe depth, and uses the bloom filter where it is valid', () => {
    const isAvalanche = chain.startsWith('AVAX');
    expect(network.confirmations).toBe(chain.startsWith('ETH') ? 12 : 'finalized');
    expect(network.bloom).toBe(!isAvalanche); // on Avalanche a header's bloom covers earlier blocks
    expect(network.finality?.minDepth).toBe({ BSC: 15, POLYGON: 16 }[chain.split('_')[0]!]);
    // Other chains wait while finality stalls, because they have replaced blocks below the head before.
    expect(network.finality?.fallbackDepth).toBe(chain.startsWith('BSC') ? 240 : undefined);
  });
});

/** From TRON's documentation (eth_chainId), and from Tether's and TRON's lists of contracts. */
const TRON_NETWORKS = [
  ['mainnet', mainnet, '0x2b6653dc', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', 2],
  ['Nile', testnet, '0xcd8690dc', 'TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf', 2],
  ['Shasta', shasta, '0x94a9059e', 'TG3XXyExBkPp9nzdajDZsozEu4BkaSJozs', 1],
] as const;

describe.each(TRON_NETWORKS)('TRON %s', (_, networks, genesisId, usdt, providers) => {
  const network = networks.find(({ family }) => family === 'TRON')!;

  it('has the right genesis and only USDT as a token', () => {
    expect(network.genesisId).toBe(genesisId);
    expect(network.tokens).toMatchObject([{ symbol: 'USDT', contract: usdt, decimals: 6 }]);
  });

  it('reads by https from all available providers', () => {
    const hosts = rpcEndpointsOf(network).map(({ url }) => new URL(url));
    expect(new Set(hosts.map(({ hostname }) => hostname.split('.').slice(-2).join('.'))).size).toBe(
      providers,
    );
    for (const { protocol, username } of hosts) expect([protocol, username]).toEqual(['https:', '']);
  });

  it('has a fee limit of two to four USDT transfers at the highest energy cost', () => {
    const terms = tronPayoutTermsOf(network)!;
    const dearest = (130_285n * 100n * BigInt(100 + terms.energyMarginPercent)) / 100n;
    expect(terms.maxFeeLimitSun).toBeGreaterThan(2n * dearest);
    expect(terms.maxFeeLimitSun).toBeLessThan(4n * dearest);
    expect(terms.lowGasBaseUnits).toBeGreaterThanOrEqual(terms.maxFeeLimitSun);
    // Long enough for some blocks, short enough for payouts that wait for an expiration.
    expect(terms.expirationMs).toBeGreaterThanOrEqual(60_000);
    expect(terms.expirationMs).toBeLessThanOrEqual(120_000);
  });
});

/** From Circle's list of contracts and Sui's documentation of its bridge. Genesis ids are digests of checkpoint 0. */
const SUI_USDC = '0xdba34672e30cb065b1f93e3ab55318768fd6fef66c15942c9f7cb846e2f900e7::usdc::USDC';
const SUI_BRIDGED_USDT = '0x375f70cf2ae4c00bf37117d0c85a2c71545e6ee05c4a5c7d282cd66a4504b068::usdt::USDT';
const SUI_TEST_USDC = '0xa1ec7fc00a6f40db9693ad1415d0c193ad3906494428cf252621037bd7117e29::usdc::USDC';
const SUI_NETWORKS = [
  [
    'mainnet',
    mainnet,
    '4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S',
    { USDC: SUI_USDC, USDT: SUI_BRIDGED_USDT },
  ],
  ['testnet', testnet, '69WiPg3DAQiwdxfncX6wYQ2siKwAe6L9BZthQea3JNMD', { USDC: SUI_TEST_USDC }],
] as const;

describe.each(SUI_NETWORKS)('SUI %s', (name, networks, genesisId, coins) => {
  const network = networks.find(({ family }) => family === 'SUI')!;

  it('has the right genesis, and full coin types with six decimals', () => {
    expect(network.genesisId).toBe(genesisId);
    const tokens = network.tokens.map(({ symbol, contract }) => [symbol, contract]);
    expect(Object.fromEntries(tokens)).toEqual(coins);
    for (const { contract, decimals } of network.tokens) {
      expect(contract).toMatch(/^0x[0-9a-f]{64}::[a-z]+::[A-Z]+$/);
      expect(decimals).toBe(6);
    }
  });

  it('reads by https, and is disabled on mainnet while it has one public node', () => {
    for (const { url } of rpcEndpointsOf(network)) expect(url).toMatch(/^https:/);
    expect(network.enabled).toBe(name === 'testnet' || rpcEndpointsOf(network).length > 1);
  });
});
