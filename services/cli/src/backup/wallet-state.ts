import type { Hold, NamedPayout, StoredPayment } from './restore-store.ts';

/** How things stand with one held wallet. Nothing is open when all lists are empty. */
export interface WalletState {
  readonly hold: Hold;
  /** What has to come about by itself, or be mended: sentences. */
  readonly waitsFor: readonly string[];
  /** All that it waits for is that the chain comes to this time; undefined: it waits for nothing, or for something else. */
  readonly waitsUntil: Date | undefined;
  /** Whose order is not known. */
  readonly payments: readonly StoredPayment[];
  /** Which nobody knows whether to pay. */
  readonly payouts: readonly NamedPayout[];
  readonly adopted: number;
  /** Endpoints that did not say what waits in their pool. */
  readonly silent: readonly string[];
}

/** Whether it stays held by itself, without anything for somebody to do: no other wallet has to wait for it. */
export function staysHeld({ waitsUntil, payments, payouts }: WalletState): boolean {
  return waitsUntil !== undefined && payments.length + payouts.length === 0;
}

/** In whose name the restore takes a payment over that is certainly a payout's. */
export const PROVEN = {
  by: 'opentill restore',
  reason: 'signed by the wallet, for the nonce or within the life of just this payout',
};
