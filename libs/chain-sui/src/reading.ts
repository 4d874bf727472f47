import type { Chain } from '@opentill/domain/chains';
import type { BlockHash } from '@opentill/chain/block';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import type { CheckpointsPerCall } from './checkpoints-per-call.ts';
import type { CheckpointTail } from './checkpoint-tail.ts';
import type { BalanceChange, SuiTransaction } from './decode-checkpoint.ts';
import type { ToldChanges } from './must-not-be-mute.ts';
import type { WaysOfReading } from './ways-of-reading.ts';
import type { SuiSource } from './sui-sources.ts';
import type { ToldAlike } from './told-alike.ts';

/** Numbers of checkpoints, both ends included. */
export interface BlockRange {
  readonly from: number;
  readonly to: number;
}

/** What every part of a reader knows of its network, and tells of its work. */
export interface Reading {
  readonly chain: Chain;
  /** The configured coin types, canonical; SUI among them where the native coin is configured. */
  readonly coins: ReadonlySet<string>;
  readonly tailOf: (source: SuiSource) => CheckpointTail;
  readonly ways: WaysOfReading;
  readonly perCall: CheckpointsPerCall;
  /** What bytes of a checkpoint say, read once where two sources give the same. */
  readonly readTold: ToldAlike['of'];
  /** How many transactions the chain had after some checkpoints, by the word of the source that they were read of; see mustBeWhole. */
  readonly totals: WeakMap<SuiSource, Map<BlockHash, number>>;
  /** What each source has shown of changed balances; see mustNotBeMute. */
  readonly told: ToldChanges;
  /** How far below a checkpoint each source was searched for one; see lookBack. */
  readonly lookedBack: WeakMap<SuiSource, { readonly height: number; readonly downTo: number }>;
  /** What is proven of transfers that this reader has given. */
  readonly proofs: WeakMap<CandidateTransfer, Proof>;
  readonly onCompared: (comparison: SourceComparison) => void;
  /** One source of several was believed alone. */
  readonly onAlone: (source: { readonly label: string }) => void;
}

/**
 * Balance changes are all there is to prove a transfer by, and whoever reads a checkpoint has read them: fee and outcome with
 * them. `isVerified`: by the verified way, so by as many sources as must agree.
 */
export interface Proof {
  readonly transaction: SuiTransaction;
  readonly change: BalanceChange;
  readonly isVerified: boolean;
}

/** What came of asking two sources the same. Every verified range that two sources answered gives one. */
export interface SourceComparison {
  readonly outcome:
    | 'AGREED'
    /** Other checkpoints of the same number. Nothing is read until that is over: see ChainReader.readVerified. */
    | 'FORKED'
    /** The same checkpoint with other contents. Nothing is read, likewise. */
    | 'CONTENTS_DIFFER';
  /** Labels of the two. */
  readonly sources: readonly [string, string];
  /** Last number of the range, or the one at which they differ. */
  readonly height: number;
}
