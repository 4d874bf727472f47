import type { CheckoutOrder } from '../../view/checkout-order.ts';

/** What became of asking a wallet to pay. */
export type WalletOutcome =
  | {
      readonly outcome: 'SENT';
      /** The transaction's hash, where the wallet told it. */
      readonly transaction?: string;
    }
  /** Its owner said no; nothing was sent. */
  | { readonly outcome: 'REFUSED' }
  /** It is on another network and did not change to ours; nothing was sent. */
  | { readonly outcome: 'WRONG_NETWORK' }
  /** It can't make this transfer; nothing was sent. */
  | { readonly outcome: 'UNABLE' }
  /** It let nobody in, as when it is locked; it was asked for no payment. */
  | { readonly outcome: 'NOT_READY' }
  /** It failed after it was asked to send, and may have sent all the same. */
  | { readonly outcome: 'FAILED' };

/** A wallet in the browser that can pay an order. */
export interface PayingWallet {
  readonly id: string;
  readonly name: string;
  /** A `data:image/` URL. */
  readonly icon: string | null;
  /** Asks its owner to send exactly what is due. Never throws. */
  pay(order: CheckoutOrder): Promise<WalletOutcome>;
  /**
   * Whether a block holds the transaction as one that failed, by the wallet's own node; false also while nobody knows.
   * Undefined where wallets of this family do not tell. Never throws.
   */
  readonly hasFailed?: ((transaction: string) => Promise<boolean>) | undefined;
}

/** EIP-1193, TIP-1193: the owner said no. Wallets of Sui use the number as well. */
const REFUSED_BY_OWNER = 4001;
/** WALLET_STANDARD_ERROR__USER__REQUEST_REJECTED of @wallet-standard/errors, in the error's context. */
const REFUSED_BY_STANDARD = 4_001_000;

/**
 * Whether an error of a wallet says that its owner said no. By the number alone: words like "rejected" or "denied" are
 * used of nodes and of devices as well, which may have sent before they said so.
 */
export function isRefusal(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, context } = error as { code?: unknown; context?: { __code?: unknown } | null };
  return code === REFUSED_BY_OWNER || context?.__code === REFUSED_BY_STANDARD;
}

/** An icon that needs no request: wallets announce theirs as data. Anything else is left out. */
export function ownIcon(icon: unknown): string | null {
  return typeof icon === 'string' && /^data:image\/[a-z+.-]+[;,]/i.test(icon) ? icon : null;
}
