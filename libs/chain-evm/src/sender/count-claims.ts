import type { Address } from '@opentill/chain/address-codec';
import type { EvmSource } from '../sources.ts';

/** A source counted transactions of a wallet that the chain does not have. An alarm: it lies, or is broken. */
export interface RefutedCount {
  /** Host and port. */
  readonly source: string;
  readonly wallet: Address;
  readonly claimed: number;
  /** By two sources at the block of this height, past the claim. */
  readonly counted: number;
  readonly height: number;
}

/**
 * What single sources say of counts that no second one names. Each such claim has to be borne out by the chain: when two
 * sources count less at a block past it, the source that made it is believed alone no more, as long as the process lives.
 */
export interface CountClaims {
  isBelieved(source: EvmSource): boolean;
  /** Whether the source has a claim about this wallet that is neither borne out nor refuted. */
  isOpen(wallet: Address, source: EvmSource): boolean;
  /** Only the first of several claims counts, so that nothing is won by raising them. `height`: past it at the latest. */
  note(wallet: Address, source: EvmSource, claim: { readonly count: number; readonly height: number }): void;
  /** Two sources agree on the count at a block. */
  settle(wallet: Address, counted: number, height: number): void;
  /** Two sources contradict what this one says of the count at a block. */
  refute(wallet: Address, source: EvmSource, claimed: number, counted: number, height: number): void;
}

interface Claim {
  readonly wallet: Address;
  readonly source: EvmSource;
  readonly count: number;
  readonly height: number;
}

/** At most one open claim per wallet and source. */
export function createCountClaims(onRefuted: (count: RefutedCount) => void): CountClaims {
  let open: readonly Claim[] = [];
  const disbelieved = new Set<EvmSource>();
  const isOpen = (wallet: Address, source: EvmSource): boolean =>
    open.some((claim) => claim.wallet === wallet && claim.source === source);

  const refute: CountClaims['refute'] = (wallet, source, claimed, counted, height) => {
    open = open.filter((claim) => claim.source !== source);
    if (disbelieved.has(source)) return;
    disbelieved.add(source);
    onRefuted({ source: source.label, wallet, claimed, counted, height });
  };
  return {
    isBelieved: (source) => !disbelieved.has(source),
    isOpen,
    note(wallet, source, claim) {
      if (!disbelieved.has(source) && !isOpen(wallet, source)) open = [...open, { wallet, source, ...claim }];
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
