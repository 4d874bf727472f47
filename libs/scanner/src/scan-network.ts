import type { TokenContract } from '@opentill/chain/transfer';
import { headStaleSecondsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import { GatewayError } from '@opentill/domain/gateway-error';

/** What the scan loop knows of the network it follows. */
export interface ScanNetwork extends Pick<
  NetworkConfig,
  | 'chain'
  | 'family'
  | 'confirmations'
  | 'finality'
  | 'blockTimeMs'
  | 'pollIntervalMs'
  | 'reorgWindow'
  | 'maxBlockRange'
> {
  /** A newest block older than this is an alarm, and the chain not ready. */
  readonly headStaleSeconds: number;
  /** Symbol of each configured token by its contract in canonical form; null is the native coin. */
  readonly symbols: ReadonlyMap<TokenContract | null, string>;
}

/**
 * What a network file says, for the scan loop. `canonicalContract` is the family's; undefined for what is not a
 * contract.
 * @throws GatewayError TOKEN_CONTRACT_INVALID
 */
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
        `${symbol} on ${network.chain}: ${contract} is not the address of a contract`,
        { retryable: false },
      );
    }
    symbols.set(canonical as TokenContract, symbol);
  }
  const { chain, family, confirmations, finality, blockTimeMs } = network;
  const { pollIntervalMs, reorgWindow, maxBlockRange } = network;
  return {
    chain,
    family,
    confirmations,
    ...(finality === undefined ? {} : { finality }),
    blockTimeMs,
    headStaleSeconds: headStaleSecondsOf(network),
    symbols,
    pollIntervalMs,
    reorgWindow,
    maxBlockRange,
  };
}
