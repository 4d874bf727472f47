import type { PayableOrder } from '../../view/checkout-order.ts';

export type WalletOutcome =
  | {
      readonly outcome: 'SENT';
      readonly transaction?: string;
    }
  /** The owner declined. Only FAILED may have sent a transfer. */
  | { readonly outcome: 'REFUSED' }
  | { readonly outcome: 'WRONG_NETWORK' }
  | { readonly outcome: 'UNABLE' }
  /** The wallet did not connect, for example because it is locked; it was not asked to pay. */
  | { readonly outcome: 'NOT_READY' }
  /** The wallet failed after it was asked to send, and may have sent. */
  | { readonly outcome: 'FAILED' };

interface OfferedWallet {
  readonly id: string;
  readonly name: string;
  /** A `data:image/` URL. */
  readonly icon: string | null;
}

/** A wallet on another device, which needs a connection before each payment. */
export interface RemoteWallet extends OfferedWallet {
  /** The wallet was not asked to pay. Null when the payer gave up. Never throws. */
  connect(order: PayableOrder): Promise<ConnectedWallet | WalletOutcome | null>;
}

export interface ConnectedWallet extends PayingWallet {
  disconnect(): void;
}

export interface PayingWallet extends OfferedWallet {
  /** Exactly the amount due. Never throws. */
  pay(order: PayableOrder): Promise<WalletOutcome>;
  /** The wallet's node answers; false while unknown. Undefined where wallets cannot tell. Never throws. */
  readonly hasFailed?: ((transaction: string) => Promise<boolean>) | undefined;
}

/** EIP-1193, TIP-1193: the owner declined. Sui wallets use this code too. */
const REFUSED_BY_OWNER = 4001;
/** WALLET_STANDARD_ERROR__USER__REQUEST_REJECTED of @wallet-standard/errors, in the error's context. */
const REFUSED_BY_STANDARD = 4_001_000;

/** Only the code counts: nodes and devices use words like "rejected" too, possibly after the transaction was sent. */
export function isRefusal(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, context } = error as { code?: unknown; context?: { __code?: unknown } | null };
  return code === REFUSED_BY_OWNER || context?.__code === REFUSED_BY_STANDARD;
}

/** Only data URLs, as wallets announce them, so that the page loads no other resource. */
export function ownIcon(icon: unknown): string | null {
  return typeof icon === 'string' && /^data:image\/[a-z+.-]+[;,]/i.test(icon) ? icon : null;
}
