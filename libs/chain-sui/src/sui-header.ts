import type { BlockHeader } from '@opentill/chain/block';

/** The summary of a checkpoint. */
export interface SuiHeader extends BlockHeader {
  readonly epoch: number;
  readonly timeMs: number;
  /** Transactions of the chain up to this checkpoint, its own included. */
  readonly totalTransactions: number;
}
