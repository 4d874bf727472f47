import type { NetworkConfig } from '@opentill/contracts/network-config';
import { DEV_TOKEN_ADDRESSES } from '@opentill/devnets/evm/start-evm-devnet';

export const EVM_CHAIN = 'ETH_SEPOLIA';
export const EVM_CHAIN_ID = 11_155_111;
export const EVM_BLOCK_TIME_SECONDS = 1;

/** The settings that benches pay on anvil by. */
export function benchEvmNetwork({
  rpcUrl,
  confirmations,
  maxOpenNonces,
}: {
  readonly rpcUrl: string;
  readonly confirmations: number;
  readonly maxOpenNonces: number;
}) {
  const token = { displayDecimals: 2, minAmount: null, maxAmount: null };
  return {
    chain: EVM_CHAIN,
    family: 'EVM',
    enabled: true,
    chainId: EVM_CHAIN_ID,
    name: 'bench',
    rpcUrls: [rpcUrl],
    nativeSymbol: 'ETH',
    nativeDecimals: 18,
    confirmations,
    blockTimeMs: EVM_BLOCK_TIME_SECONDS * 1_000,
    pollIntervalMs: 200,
    reorgWindow: 64,
    maxBlockRange: 100,
    bloom: true,
    tokens: [{ symbol: 'USDT', contract: DEV_TOKEN_ADDRESSES.USDT.toLowerCase(), decimals: 6, ...token }],
    payouts: {
      maxOpenNonces,
      minPriorityFeePerGas: '1000000',
      maxPriorityFeePerGas: '10000000000',
      maxFeePerGas: '500000000000',
      bumpAfterSeconds: 30,
    },
  } satisfies NetworkConfig;
}
