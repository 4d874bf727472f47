import type { TokenContract } from '@opentill/chain/transfer';
import { headStaleSecondsOf, restIntervalMsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import { GatewayError } from '@opentill/domain/gateway-error';

export interface ScanNetwork extends Pick<
  NetworkConfig,
  | 'chain'
  | 'family'
  | 'chainId'
  | 'kind'
  | 'confirmations'
  | 'finality'
  | 'aloneAfterSeconds'
  | 'blockTimeMs'
  | 'pollIntervalMs'
  | 'reorgWindow'
  | 'maxBlockRange'
> {
  /** An older head raises an alarm and makes the chain unready. */
  readonly headStaleSeconds: number;
  /** Between polls at rest; equal to `pollIntervalMs`: the chain never rests. */
  readonly restIntervalMs: number;
  /** Larger orders need more confirmations (`confirmationsByAmount`). */
  readonly hasDepthByAmount?: boolean;
  /** By canonical contract; null is the native coin. */
  readonly symbols: ReadonlyMap<TokenContract | null, string>;
}

export function scanNetworkOf(
  network: NetworkConfig,
  canonicalContract: (contract: string) => string | undefined,
): ScanNetwork {
  const symbols = new Map<TokenContract | null, string>();
  for (const { contract, symbol } of network.tokens) {
    if (contract === null) {
      symbols.set(null, symbol);
      continue;
    }
    const canonical = canonicalContract(contract);
    if (canonical === undefined) {
      throw new GatewayError(
        'TOKEN_CONTRACT_INVALID',
        `${symbol} on ${network.chain}: ${contract} is not a contract address. Correct it in the network file.`,
        { retryable: false },
      );
    }
    symbols.set(canonical as TokenContract, symbol);
  }
  const { chain, family, chainId, kind, confirmations, finality, aloneAfterSeconds, blockTimeMs } = network;
  const { pollIntervalMs, reorgWindow, maxBlockRange } = network;
  return {
    chain,
    family,
    ...(chainId === undefined ? {} : { chainId }),
    ...(kind === undefined ? {} : { kind }),
    confirmations,
    ...(finality === undefined ? {} : { finality }),
    ...(aloneAfterSeconds === undefined ? {} : { aloneAfterSeconds }),
    blockTimeMs,
    headStaleSeconds: headStaleSecondsOf(network),
    symbols,
    pollIntervalMs,
    restIntervalMs: restIntervalMsOf(network),
    hasDepthByAmount: (network.confirmationsByAmount ?? []).length > 0,
    reorgWindow,
    maxBlockRange,
  };
}
