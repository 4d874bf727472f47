import type { Address } from './address-codec.ts';
import type { TokenContract } from './transfer.ts';

/** A null contract means the native coin. */
export interface Holding {
  readonly holder: Address;
  readonly contract: TokenContract | null;
}

export type StateNumber =
  | { readonly kind: 'AGREED'; readonly value: bigint }
  /** One of the sources is wrong; the gateway does not guess which. */
  | {
      readonly kind: 'DISPUTED';
      readonly said: readonly { readonly label: string; readonly value: bigint }[];
    };
