import type { Chain } from '@opentill/domain/chains';
import type { TokensByHex } from './decode-info.ts';

/** Block heights, both included. */
export interface BlockRange {
  readonly from: number;
  readonly to: number;
}

export interface Reading {
  readonly chain: Chain;
  readonly tokens: TokensByHex;
  readonly native: boolean;
  readonly onCompared: (comparison: SourceComparison) => void;
  /** One of several sources was accepted on its own. */
  readonly onAlone: (source: { readonly label: string }) => void;
}

/** Result of comparing two sources; one for each verified range that two sources answered. */
export interface SourceComparison {
  readonly outcome:
    | 'AGREED'
    /** Different blocks at the same height. Reading stops until this ends; see ChainReader.readVerified. */
    | 'FORKED'
    /** The same block with different receipts or transactions. Reading stops likewise. */
    | 'CONTENTS_DIFFER';
  readonly sources: readonly [string, string];
  /** Last height of the range, or the first one at which they differ. */
  readonly height: number;
}
