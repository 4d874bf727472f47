import type { Address } from './address-codec.ts';
import type { TokenContract } from './transfer.ts';

/** What the contract of a configured token says of itself that its holders have to know. */
export type TokenWarning =
  /** Another contract has taken its place, the named one where it names one: payments through that are seen by nobody. */
  | { readonly kind: 'REPLACED'; readonly contract: TokenContract; readonly by: Address | undefined }
  /** Nothing moves: nobody can pay, and no payout succeeds. */
  | { readonly kind: 'PAUSED'; readonly contract: TokenContract };
