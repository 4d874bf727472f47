import type { CheckoutOrder } from '../../view/checkout-order.ts';

/** What became of asking a wallet to pay. */
export type WalletOutcome =
  | { readonly outcome: 'SENT' }
  /** Its owner said no; nothing was sent. */
  | { readonly outcome: 'REFUSED' }
  /** It is on another network and did not change to ours; nothing was sent. */
  | { readonly outcome: 'WRONG_NETWORK' }
  /** It can't make this transfer; nothing was sent. */
  | { readonly outcome: 'UNABLE' }
  /** It failed, and may have sent all the same. */
  | { readonly outcome: 'FAILED' };

/** A wallet in the browser that can pay an order. */
export interface PayingWallet {
  readonly id: string;
  readonly name: string;
  /** A `data:image/` URL. */
  readonly icon: string | null;
  /** Asks its owner to send exactly what is due. Never throws. */
  pay(order: CheckoutOrder): Promise<WalletOutcome>;
}

/** EIP-1193: the owner said no. Wallets of other families use the number as well. */
const REFUSED_BY_OWNER = 4001;

/** Whether an error of a wallet means that its owner said no. */
export function isRefusal(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, message } = error as { code?: unknown; message?: unknown };
  return (
    code === REFUSED_BY_OWNER || (typeof message === 'string' && /reject|denied|declin|cancel/i.test(message))
  );
}

/** An icon that needs no request: wallets announce theirs as data. Anything else is left out. */
export function ownIcon(icon: unknown): string | null {
  return typeof icon === 'string' && /^data:image\/[a-z+.-]+[;,]/i.test(icon) ? icon : null;
}
