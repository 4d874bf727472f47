import type { NetworkConfig, SuiPayoutsConfig, TronPayoutsConfig } from '@opentill/contracts/network-config';
import type { Anvil } from '@opentill/devnets/evm/anvil';
import { DEV_TOKEN_ADDRESSES } from '@opentill/devnets/evm/start-evm-devnet';
import type { SuiDevnet } from '@opentill/devnets/sui/start-sui-devnet';
import type { TronDevnet } from '@opentill/devnets/tron/start-tron-devnet';

const SHOWN = { displayDecimals: 2, minAmount: null, maxAmount: null };
const STABLECOIN = { decimals: 6, ...SHOWN };

/** A devnet that mines on request runs ahead of the wall clock. */
const DEVNET = {
  enabled: true,
  name: 'devnet',
  headStaleSeconds: 86_400,
  pollIntervalMs: 30,
  restIntervalMs: 30, // a devnet never rests
  reorgWindow: 60,
};

/** Fees in sun. */
export const TRON_DEVNET_PAYOUTS: TronPayoutsConfig = {
  maxOpenPayouts: 32,
  expirationSeconds: 60,
  maxFeeLimitSun: '100000000',
  energyMarginPercent: 30,
};

/** Fees in MIST. */
export const SUI_DEVNET_PAYOUTS: SuiPayoutsConfig = {
  maxOpenPayouts: 32,
  maxGasBudgetMist: '50000000',
  maxGasPriceMist: '5000',
};

export function evmDevnetNetwork(
  { rpcUrl, wsUrl }: Pick<Anvil, 'rpcUrl' | 'wsUrl'>,
  network: Pick<NetworkConfig, 'chain' | 'chainId'> & Partial<NetworkConfig>,
): NetworkConfig {
  return {
    family: 'EVM',
    enabled: true,
    name: 'devnet',
    rpcUrls: [rpcUrl],
    wsUrl,
    nativeSymbol: 'ETH',
    nativeDecimals: 18,
    confirmations: 3,
    blockTimeMs: 1_000,
    pollIntervalMs: 50,
    restIntervalMs: network.pollIntervalMs ?? 50,
    reorgWindow: 30,
    maxBlockRange: 20,
    bloom: true,
    tokens: [
      { symbol: 'USDT', contract: DEV_TOKEN_ADDRESSES.USDT, ...STABLECOIN },
      { symbol: 'USDC', contract: DEV_TOKEN_ADDRESSES.USDC, ...STABLECOIN },
    ],
    ...network,
  };
}

/** Has payouts only if `overrides` contains them. */
export function tronDevnetNetwork(
  devnet: Pick<TronDevnet, 'url' | 'chainId' | 'tokens'>,
  overrides: Partial<NetworkConfig> = {},
): NetworkConfig {
  return {
    ...DEVNET,
    chain: 'TRON_TEST',
    family: 'TRON',
    genesisId: devnet.chainId,
    rpcUrls: [devnet.url],
    nativeSymbol: 'TRX',
    nativeDecimals: 6,
    confirmations: 'finalized',
    blockTimeMs: 3_000,
    maxBlockRange: 20,
    tokens: [
      { symbol: 'USDT', contract: devnet.tokens.USDT, ...STABLECOIN },
      { symbol: 'USDC', contract: devnet.tokens.USDC, ...STABLECOIN },
      { symbol: 'TRX', contract: null, decimals: 6, ...SHOWN },
    ],
    ...overrides,
  };
}

/** Has payouts only if `overrides` contains them. */
export function suiDevnetNetwork(
  devnet: Pick<SuiDevnet, 'url' | 'chainId' | 'tokens'>,
  overrides: Partial<NetworkConfig> = {},
): NetworkConfig {
  return {
    ...DEVNET,
    chain: 'SUI_TEST',
    family: 'SUI',
    genesisId: devnet.chainId,
    rpcUrls: [devnet.url],
    nativeSymbol: 'SUI',
    nativeDecimals: 9,
    confirmations: 'finalized',
    blockTimeMs: 250,
    maxBlockRange: 100,
    tokens: [
      { symbol: 'USDT', contract: devnet.tokens.USDT, ...STABLECOIN },
      { symbol: 'USDC', contract: devnet.tokens.USDC, ...STABLECOIN },
      { symbol: 'SUI', contract: null, decimals: 9, ...SHOWN },
    ],
    ...overrides,
  };
}
