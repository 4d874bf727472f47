import type { Chain } from '@opentill/domain/chains';
import type { TokensByHex } from './decode-info.ts';

/** Heights of blocks, both ends included. */
export interface BlockRange {
  readonly from: number;
  readonly to: number;
}

/** What every part of a reader knows of its network, and tells of its work. */
export interface Reading {
  readonly chain: Chain;
  readonly tokens: TokensByHex;
  /** Whether TRX is configured. */
  readonly native: boolean;
  readonly onCompared: (comparison: SourceComparison) => void;
  /** One source of several was believed alone. */
  readonly onAlone: (source: { readonly label: string }) => void;
}

/** What came of asking two sources the same. Every verified range that two sources answered gives one. */
export interface SourceComparison {
  readonly outcome:
    | 'AGREED'
    /** Other blocks at the same height. Nothing is read until that is over: see ChainReader.readVerified. */
    | 'FORKED'
    /** The same block with other receipts or transactions. Nothing is read, likewise. */
    | 'CONTENTS_DIFFER';
  /** Labels of the two. */
  readonly sources: readonly [string, string];
  /** Last height of the range, or the height at which they differ. */
  readonly height: number;
}
