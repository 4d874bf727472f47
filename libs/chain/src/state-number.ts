import type { Address } from './address-codec.ts';
import type { TokenContract } from './transfer.ts';

/** An asset of an account; null: the native coin. */
export interface Holding {
  readonly holder: Address;
  readonly contract: TokenContract | null;
}

/** A number of a chain's state, from two sources (from the only one where one is configured). */
export type StateNumber =
  | { readonly kind: 'AGREED'; readonly value: bigint }
  /** Two sources differ, so one of them is wrong; the gateway does not guess which. */
  | {
      readonly kind: 'DISPUTED';
      readonly said: readonly { readonly label: string; readonly value: bigint }[];
    };
