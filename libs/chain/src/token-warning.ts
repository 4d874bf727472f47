import type { Address } from './address-codec.ts';
import type { TokenContract } from './transfer.ts';

export type TokenWarning =
  /** Another contract (`by`, if known) replaced it. The gateway does not see payments through that one. */
  | { readonly kind: 'REPLACED'; readonly contract: TokenContract; readonly by: Address | undefined }
  /** All transfers are paused: customers cannot pay, and no payout succeeds. */
  | { readonly kind: 'PAUSED'; readonly contract: TokenContract };
