import type { Address } from './address-codec.ts';
import type { TokenContract } from './transfer.ts';

/** Something that an account has a balance of; null: the native coin. */
export interface Holding {
  readonly holder: Address;
  readonly contract: TokenContract | null;
}

/** A number of a chain's state, by two sources (by the only one where one is configured). */
export type StateNumber =
  | { readonly kind: 'AGREED'; readonly value: bigint }
  /** Two sources say different things: one of them lies, and which is not guessed. */
  | {
      readonly kind: 'DISPUTED';
      readonly said: readonly { readonly label: string; readonly value: bigint }[];
    };
