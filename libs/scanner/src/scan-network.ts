import type { TokenContract } from '@opentill/chain/transfer';
import type { Confirmations } from '@opentill/contracts/network-config';
import type { Chain, Family } from '@opentill/domain/chains';

/** What the scan loop knows of the network it follows. */
export interface ScanNetwork {
  readonly chain: Chain;
  readonly family: Family;
  /** Depth of the verified cursor: so many blocks with the head as the first, or the chain's finalized tag. */
  readonly confirmations: Confirmations;
  /** Symbol of each configured token by its contract in canonical form. */
  readonly symbols: ReadonlyMap<TokenContract, string>;
  readonly pollIntervalMs: number;
  /** Blocks kept below the verified cursor; a fork below them stops the scanner. */
  readonly reorgWindow: number;
  /** Most blocks read and committed at once. */
  readonly maxBlockRange: number;
}
