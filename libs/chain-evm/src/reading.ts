import type { Chain } from '@opentill/domain/chains';
import type { BloomBits } from './bloom.ts';
import type { DataFee } from './data-fee.ts';
import type { EvmHeader } from './decode.ts';

/** Both inclusive. */
export interface BlockRange {
  readonly from: number;
  readonly to: number;
}

export interface Reading {
  readonly chain: Chain;
  readonly tokens: ReadonlySet<string>;
  readonly tokenBits: readonly BloomBits[];
  readonly transferBits: BloomBits;
  /** A header's bloom covers its own block. On Avalanche it covers the blocks that it settles. */
  readonly bloom: boolean;
  /** The native coin is configured, so blocks are read with their transactions. */
  readonly native: boolean;
  /** The chain itself makes transactions that some nodes omit (Polygon). */
  readonly hasStateSync: boolean;
  readonly dataFee?: DataFee;
  readonly epochSeconds: () => number;
  readonly onDecidedByReceipts: (block: ReceiptDecision) => void;
  readonly onCompared: (comparison: SourceComparison) => void;
  readonly onSingleSource: (source: { readonly label: string }) => void;
}

/** Its logs are in doubt, so its receipts decide. */
export interface ReceiptDecision {
  readonly header: EvmHeader;
  readonly reason:
    /** No log of the configured tokens, but the header's bloom contains some. */
    | 'BLOOM_CONTRADICTS'
    /** A transfer that was seen in this block is missing from the logs. */
    | 'EXPECTED_MISSING'
    /** More logs than the provider returns in an answer, or a provider that returns no logs. */
    | 'TOO_MANY_LOGS'
    /** No log of the configured tokens, and no bloom to confirm that. */
    | 'EMPTY_WITHOUT_BLOOM'
    /** A block above it lacked its logs, so the answer may have been cut off within this block. */
    | 'CUT_OFF'
    | 'SOURCES_DIFFER'
    | 'RECEIPT_CONTRADICTS';
}

export interface SourceComparison {
  readonly outcome:
    | 'AGREED'
    /** Accepted only if the receipts of both then agree. */
    | 'LOGS_DIFFER'
    /** Different blocks at the same height. No block is read until they agree. */
    | 'FORKED'
    /** The same block with a different time, bloom, transactions or receipts. No block is read until they agree. */
    | 'CONTENTS_DIFFER';
  readonly sources: readonly [string, string];
  readonly height: number;
}
