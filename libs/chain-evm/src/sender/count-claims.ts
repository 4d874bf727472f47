import type { Address } from '@opentill/chain/address-codec';
import type { EvmSource } from '../sources.ts';

/** Raise an alarm: the source counted transactions that the chain does not have. */
export interface RefutedCount {
  readonly source: string;
  readonly wallet: Address;
  readonly claimed: number;
  /** Agreed by two sources at the block of this height, after the claim. */
  readonly counted: number;
  readonly height: number;
}

/**
 * Counts of a single source. When two sources count less at a later block, its single claims are ignored from then on.
 */
export interface CountClaims {
  isTrusted(source: EvmSource): boolean;
  isOpen(wallet: Address, source: EvmSource): boolean;
  /** Only the first claim counts, so that raising it does not postpone its check at `height`. */
  note(wallet: Address, source: EvmSource, claim: { readonly count: number; readonly height: number }): void;
  settle(wallet: Address, counted: number, height: number): void;
  refute(wallet: Address, source: EvmSource, claimed: number, counted: number, height: number): void;
}

interface Claim {
  readonly wallet: Address;
  readonly source: EvmSource;
  readonly count: number;
  readonly height: number;
}

export function createCountClaims(onRefuted: (count: RefutedCount) => void): CountClaims {
  let open: readonly Claim[] = [];
  const distrusted = new Set<EvmSource>();
  const isOpen = (wallet: Address, source: EvmSource): boolean =>
    open.some((claim) => claim.wallet === wallet && claim.source === source);

  const refute: CountClaims['refute'] = (wallet, source, claimed, counted, height) => {
    open = open.filter((claim) => claim.source !== source);
    if (distrusted.has(source)) return;
    distrusted.add(source);
    onRefuted({ source: source.label, wallet, claimed, counted, height });
  };
  return {
    isTrusted: (source) => !distrusted.has(source),
    isOpen,
    note(wallet, source, claim) {
      if (!distrusted.has(source) && !isOpen(wallet, source)) open = [...open, { wallet, source, ...claim }];
    },
    settle(wallet, counted, height) {
      const due = open.filter((claim) => claim.wallet === wallet && claim.height <= height);
      open = open.filter((claim) => !due.includes(claim));
      for (const { source, count } of due)
        if (count > counted) refute(wallet, source, count, counted, height);
    },
    refute,
  };
}
