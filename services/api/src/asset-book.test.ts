import { describe, expect, it } from 'vitest';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Chain } from '@opentill/domain/chains';
import { baseUnits } from '@opentill/domain/money';
import { createAssetBook } from './asset-book.ts';

const contract = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const network: NetworkConfig = {
  chain: 'ETH_SEPOLIA',
  family: 'EVM',
  enabled: true,
  chainId: 11155111,
  name: 'x',
  rpcUrls: ['http://x'],
  nativeSymbol: 'ETH',
  nativeDecimals: 18,
  confirmations: 3,
  confirmationsByAmount: [{ fromAmount: '1000', confirmations: 12 }],
  blockTimeMs: 1_000,
  pollIntervalMs: 250,
  reorgWindow: 64,
  maxBlockRange: 10,
  bloom: true,
  tokens: [
    { symbol: 'USDT', contract, decimals: 6, displayDecimals: 2, minAmount: '1', maxAmount: null },
    { symbol: 'ETH', contract: null, decimals: 18, displayDecimals: 4, minAmount: null, maxAmount: '10' },
  ],
};
const tron: NetworkConfig = { ...network, chain: 'TRON_TEST', family: 'TRON', nativeDecimals: 6 };

describe('createAssetBook', () => {
  it('finds assets case-insensitively, with canonical contracts and limits', () => {
    const book = createAssetBook([network, tron], [evmAddressCodec]);
    const usdt = book.find('ETH_SEPOLIA', 'usdt');
    expect(usdt).toMatchObject({
      symbol: 'USDT',
      contract: contract.toLowerCase(),
      minAmount: 1_000_000n,
      maxAmount: null,
    });
    expect(usdt?.confirmationsFor(baseUnits(999_999_999n))).toBe(3);
    expect(usdt?.confirmationsFor(baseUnits(1_000_000_000n))).toBe(12);
    expect(usdt?.isTokenContract(contract.toLowerCase() as never)).toBe(true);
    expect(book.list({})).toEqual([
      {
        symbol: 'USDT',
        chain: 'ETH_SEPOLIA',
        contractAddress: contract,
        decimals: 6,
        minAmount: '1.00',
        maxAmount: null,
      },
      {
        symbol: 'ETH',
        chain: 'ETH_SEPOLIA',
        contractAddress: null,
        decimals: 18,
        minAmount: null,
        maxAmount: '10.0000',
      },
    ]);
  });

  it('treats a disabled chain and one without a codec as not enabled', () => {
    const book = createAssetBook([{ ...network, enabled: false }, tron], [evmAddressCodec]);
    expect(book.find('ETH_SEPOLIA', 'USDT')).toBeUndefined();
    expect(book.find('TRON_TEST', 'USDT')).toBeUndefined();
    expect(book.enabledChains).toEqual([]);
    expect(book.nativeDecimals('TRON_TEST')).toBe(6);
    expect(book.nativeDecimals('SUI')).toBe(18);
  });

  it('knows the presets and the chains of its networks file, with their identity', () => {
    const acme = { ...network, chain: 'ACME_L2' as Chain, chainId: 31_337, kind: 'test' as const };
    const book = createAssetBook([acme], [evmAddressCodec]);
    expect(['ACME_L2', 'ETH', 'DOGE', 'toString', null].map(book.isKnownChain)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(book.find(acme.chain, 'USDT')?.family).toBe('EVM');
    expect([acme.chain, 'ETH' as const, 'TRON' as const].map(book.chainIdOf)).toEqual([31_337, 1, null]);
    expect(book.isTestNetwork(acme.chain)).toBe(true);
    expect(book.isTestNetwork('GONE_L2' as Chain)).toBe(true); // the kind of the gateway
  });

  it('rejects a contract that is not an address', () => {
    const wrong = { ...network, tokens: [{ ...network.tokens[0]!, contract: '0x12' }] };
    expect(() => createAssetBook([wrong], [evmAddressCodec])).toThrow(
      expect.objectContaining({ code: 'TOKEN_CONTRACT_INVALID' }),
    );
  });
});
