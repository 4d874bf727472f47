import type { Chain } from '@opentill/domain/chains';
import type { BloomBits } from './bloom.ts';
import type { EvmHeader } from './decode.ts';

/** Block heights, both inclusive. */
export interface BlockRange {
  readonly from: number;
  readonly to: number;
}

/** Network data and sinks that all parts of a reader share. */
export interface Reading {
  readonly chain: Chain;
  /** Contracts of the configured tokens, in canonical form. */
  readonly tokens: ReadonlySet<string>;
  readonly tokenBits: readonly BloomBits[];
  readonly transferBits: BloomBits;
  /** True if a header's bloom covers its own block. On Avalanche it covers the blocks that it settles. */
  readonly bloom: boolean;
  /** True if the native coin is configured, so that blocks are read with their transactions. */
  readonly native: boolean;
  /** True if the chain itself makes transactions that some nodes omit, see EvmReceipt.isStateSync (Polygon). */
  readonly hasStateSync: boolean;
  readonly epochSeconds: () => number;
  readonly onJudged: (block: ReceiptDecision) => void;
  readonly onCompared: (comparison: SourceComparison) => void;
  readonly onAlone: (source: { readonly label: string }) => void;
}

/** A block whose receipts decide, because its logs are in doubt. */
export interface ReceiptDecision {
  readonly header: EvmHeader;
  readonly reason:
    /** No log of the configured tokens, but the header's bloom contains some. */
    | 'BLOOM_CONTRADICTS'
    /** A transfer that was seen in this block is missing from the logs. */
    | 'EXPECTED_MISSING'
    /** More logs in this block than the provider returns in an answer, or a provider that returns no logs. */
    | 'TOO_MANY_LOGS'
    /** No log of the configured tokens, and no bloom to confirm that. */
    | 'EMPTY_WITHOUT_BLOOM'
    | 'SOURCES_DIFFER'
    | 'RECEIPT_CONTRADICTS';
}

/** Comparison of two sources' answers. Every verified range that two sources answered produces one. */
export interface SourceComparison {
  readonly outcome:
    | 'AGREED'
    /** Different logs of the same blocks. Accepted only if the receipts of both then agree. */
    | 'LOGS_DIFFER'
    /** Different blocks at the same height. No block is read until they agree: see ChainReader.readVerified. */
    | 'FORKED'
    /** The same block with a different time, bloom, transactions or receipts. No block is read until they agree. */
    | 'CONTENTS_DIFFER';
  readonly sources: readonly [string, string];
  /** Last height of the range, or the height at which they differ. */
  readonly height: number;
}
