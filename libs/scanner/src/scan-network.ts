import type { TokenContract } from '@opentill/chain/transfer';
import type { Confirmations, NetworkConfig } from '@opentill/contracts/network-config';
import type { Chain, Family } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';

export type ScanNetworkErrorCode =
  /** A token's contract in the network file is not one of its family. */
  'TOKEN_CONTRACT_INVALID';

/** What the scan loop knows of the network it follows. */
export interface ScanNetwork {
  readonly chain: Chain;
  readonly family: Family;
  /** Depth of the verified cursor: so many blocks with the head as the first, or the chain's finalized tag. */
  readonly confirmations: Confirmations;
  /** Symbol of each configured token by its contract in canonical form; null is the native coin. */
  readonly symbols: ReadonlyMap<TokenContract | null, string>;
  readonly pollIntervalMs: number;
  /** Blocks kept below the verified cursor; a fork below them stops the scanner. */
  readonly reorgWindow: number;
  /** Most blocks read and committed at once. */
  readonly maxBlockRange: number;
}

/**
 * What a network file says, for the scan loop. Native coins, whose contract is null, are left out: no transfer of
 * theirs is read. `canonicalContract` is the family's; undefined for what is not a contract.
 * @throws GatewayError TOKEN_CONTRACT_INVALID
 */
export function scanNetworkOf(
  network: NetworkConfig,
  canonicalContract: (contract: string) => string | undefined,
): ScanNetwork {
  const symbols = new Map<TokenContract | null, string>();
  for (const { contract, symbol } of network.tokens) {
    if (contract === null) continue;
    const canonical = canonicalContract(contract);
    if (canonical === undefined) {
      throw new GatewayError<ScanNetworkErrorCode>(
        'TOKEN_CONTRACT_INVALID',
        `${symbol} on ${network.chain}: ${contract} is not the address of a contract`,
        { retryable: false },
      );
    }
    symbols.set(canonical as TokenContract, symbol);
  }
  const { chain, family, confirmations, pollIntervalMs, reorgWindow, maxBlockRange } = network;
  return { chain, family, confirmations, symbols, pollIntervalMs, reorgWindow, maxBlockRange };
}
