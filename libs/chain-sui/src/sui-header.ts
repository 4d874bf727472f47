import type { BlockHeader } from '@opentill/chain/block';

export interface SuiHeader extends BlockHeader {
  readonly epoch: number;
  readonly timeMs: number;
  /** Total of the chain, including this checkpoint's. */
  readonly totalTransactions: number;
}
