import type { TokenContract } from '@opentill/chain/transfer';
import {
  headStaleSecondsOf,
  type Confirmations,
  type FinalityConfig,
  type NetworkConfig,
} from '@opentill/contracts/network-config';
import type { Chain, Family } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';

type ScanNetworkErrorCode =
  /** A token's contract in the network file is not one of its family. */
  'TOKEN_CONTRACT_INVALID';

/** What the scan loop knows of the network it follows. */
export interface ScanNetwork {
  readonly chain: Chain;
  readonly family: Family;
  /** Depth of the verified cursor: so many blocks with the head as the first, or the chain's finalized tag. */
  readonly confirmations: Confirmations;
  /** What to do about finality that stalls; only with confirmations 'finalized'. Absent: hold, without an alarm. */
  readonly finality?: FinalityConfig;
  /** Usual time between blocks: a guide for alarms and pauses, never for correctness. */
  readonly blockTimeMs: number;
  /** A newest block older than this is an alarm, and the chain not ready. */
  readonly headStaleSeconds: number;
  /** Symbol of each configured token by its contract in canonical form; null is the native coin. */
  readonly symbols: ReadonlyMap<TokenContract | null, string>;
  readonly pollIntervalMs: number;
  /** Blocks kept below the verified cursor; a fork below them stops the scanner. */
  readonly reorgWindow: number;
  /** Most blocks read and committed at once. */
  readonly maxBlockRange: number;
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
      throw new GatewayError<ScanNetworkErrorCode>(
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
