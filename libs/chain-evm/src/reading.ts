import type { Chain } from '@opentill/domain/chains';
import type { BloomBits } from './bloom.ts';
import type { EvmHeader } from './decode.ts';

/** Heights of blocks, both ends included. */
export interface BlockRange {
  readonly from: number;
  readonly to: number;
}

/** What every part of a reader knows of its network, and tells of its work. */
export interface Reading {
  readonly chain: Chain;
  /** Contracts of the configured tokens, in canonical form. */
  readonly tokens: ReadonlySet<string>;
  /** Bits of each token's address in a bloom filter, and of the Transfer topic. */
  readonly tokenBits: readonly BloomBits[];
  readonly transferBits: BloomBits;
  /** Whether a header's bloom speaks of its own block (not on Avalanche: there it is of the blocks it settles). */
  readonly bloom: boolean;
  /** Whether the native coin is configured, so that blocks are read with their transactions. */
  readonly native: boolean;
  /** Whether the chain itself makes transactions that not every node lists, see EvmReceipt.isStateSync (Polygon). */
  readonly hasStateSync: boolean;
  readonly epochSeconds: () => number;
  readonly onJudged: (block: JudgedBlock) => void;
  readonly onCompared: (comparison: SourceComparison) => void;
  /** One source of several was believed alone. */
  readonly onAlone: (source: { readonly label: string }) => void;
}

/** A block whose logs were not believed, or not enough. */
export interface JudgedBlock {
  readonly header: EvmHeader;
  readonly reason:
    /** No log of our tokens, though the header's bloom speaks of some. */
    | 'BLOOM_CONTRADICTS'
    /** A transfer that was seen in this very block is not among the logs. */
    | 'EXPECTED_MISSING'
    /** More logs in this one block than the provider puts into an answer, or a provider that gives no logs. */
    | 'TOO_MANY_LOGS'
    /** No log of our tokens, and no bloom to say that there is none. */
    | 'EMPTY_WITHOUT_BLOOM'
    /** Two sources gave different logs. */
    | 'SOURCES_DIFFER'
    /** A transaction's receipt contradicts the logs. */
    | 'RECEIPT_CONTRADICTS';
}

/** What came of asking two sources the same. Every verified range that two sources answered gives one. */
export interface SourceComparison {
  readonly outcome:
    | 'AGREED'
    /** Other logs of the same blocks. Read only if the receipts of both then agree. */
    | 'LOGS_DIFFER'
    /** Other blocks at the same height. Nothing is read until that is over: see ChainReader.readVerified. */
    | 'FORKED'
    /** The same block with another time, bloom, transactions or receipts. Nothing is read, likewise. */
    | 'CONTENTS_DIFFER';
  /** Labels of the two. */
  readonly sources: readonly [string, string];
  /** Last height of the range, or the height at which they differ. */
  readonly height: number;
}
