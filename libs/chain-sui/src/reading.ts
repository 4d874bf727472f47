import type { Chain } from '@opentill/domain/chains';
import type { BlockHash } from '@opentill/chain/block';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import type { CheckpointsPerCall } from './checkpoints-per-call.ts';
import type { CheckpointTail } from './checkpoint-tail.ts';
import type { BalanceChange, SuiTransaction } from './decode-checkpoint.ts';
import type { ShownChanges } from './require-balance-changes.ts';
import type { FetchMethods } from './fetch-methods.ts';
import type { SuiSource } from './sui-sources.ts';
import type { DecodeOnce } from './decode-once.ts';

/** Both inclusive. */
export interface BlockRange {
  readonly from: number;
  readonly to: number;
}

export interface Reading {
  readonly chain: Chain;
  /** Canonical; includes SUI if the native coin is configured. */
  readonly coins: ReadonlySet<string>;
  readonly tailOf: (source: SuiSource) => CheckpointTail;
  readonly fetchMethods: FetchMethods;
  readonly perCall: CheckpointsPerCall;
  /** Decodes once if two sources return the same bytes. */
  readonly decodeOnce: DecodeOnce['of'];
  /** Total transactions of the chain after recent checkpoints, per source; see requireComplete. */
  readonly totals: WeakMap<SuiSource, Map<BlockHash, number>>;
  readonly shownChanges: ShownChanges;
  /** Per source, the lowest checkpoint searched below `height`. */
  readonly lookedBack: WeakMap<SuiSource, { readonly height: number; readonly downTo: number }>;
  readonly proofs: WeakMap<CandidateTransfer, Proof>;
  readonly onCompared: (comparison: SourceComparison) => void;
  readonly onSingleSource: (source: { readonly label: string }) => void;
}

/** Balance changes are the only evidence for a transfer. `isVerified`: read from as many sources as must agree. */
export interface Proof {
  readonly transaction: SuiTransaction;
  readonly change: BalanceChange;
  readonly isVerified: boolean;
}

export interface SourceComparison {
  readonly outcome:
    | 'AGREED'
    /** Different checkpoints at the same height. Reading stops until they agree. */
    | 'FORKED'
    /** The same checkpoint with different contents. Reading also stops. */
    | 'CONTENTS_DIFFER';
  readonly sources: readonly [string, string];
  readonly height: number;
}
