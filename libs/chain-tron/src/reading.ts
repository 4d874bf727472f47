import type { Chain } from '@opentill/domain/chains';
import type { TokensByHex } from './decode-info.ts';

/** Both inclusive. */
export interface BlockRange {
  readonly from: number;
  readonly to: number;
}

export interface Reading {
  readonly chain: Chain;
  readonly tokens: TokensByHex;
  readonly native: boolean;
  readonly onCompared: (comparison: SourceComparison) => void;
  readonly onSingleSource: (source: { readonly label: string }) => void;
}

export interface SourceComparison {
  readonly outcome:
    | 'AGREED'
    /** Different blocks at the same height. Reading stops until they agree. */
    | 'FORKED'
    /** The same block with different receipts or transactions. Reading also stops. */
    | 'CONTENTS_DIFFER';
  readonly sources: readonly [string, string];
  readonly height: number;
}
