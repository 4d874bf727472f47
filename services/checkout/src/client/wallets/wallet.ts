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

/**
 * Whether an error of a wallet says that its owner said no. By the number alone: words like "rejected" or "denied" are
 * used of nodes and of devices as well, which may have sent before they said so.
 */
export function isRefusal(error: unknown): boolean {
  return (
    typeof error === 'object' && error !== null && (error as { code?: unknown }).code === REFUSED_BY_OWNER
  );
}

/** An icon that needs no request: wallets announce theirs as data. Anything else is left out. */
export function ownIcon(icon: unknown): string | null {
  return typeof icon === 'string' && /^data:image\/[a-z+.-]+[;,]/i.test(icon) ? icon : null;
}
