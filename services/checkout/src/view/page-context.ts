import type { TextName } from '../texts/en.ts';
import { isPayable, stateOf, type CheckoutOrder, type CheckoutState } from './checkout-order.ts';

export interface WalletView {
  readonly id: string;
  readonly name: string;
  /** A `data:` URL; other icons are not shown. */
  readonly icon: string | null;
}

export interface WalletNotice {
  readonly text: Extract<TextName, `wallet${string}`>;
  readonly wallet: string;
}

/** The server knows only the time. */
export interface PageContext {
  readonly nowSeconds: number;
  readonly offline: boolean;
  readonly doubtful: boolean;
  readonly wallets: readonly WalletView[];
  /** The id of the wallet whose owner is being asked. */
  readonly asking: string | null;
  /** No wallet may be asked now: one was asked or may have sent, or the server is unreachable. */
  readonly walletBusy: boolean;
  /** A payment is or may be pending: the page does not invite a second one. */
  readonly onItsWay: boolean;
  /** The outcome of a wallet is unknown or overdue: the payer may confirm that the wallet did not send. */
  readonly mayPayAgain: boolean;
  readonly walletNotice: WalletNotice | null;
  readonly pageUrl: string | null;
  /** The page's own host, for the line at its end. */
  readonly host: string | null;
  /** The name of the gateway's theme, for merchants without a name. */
  readonly shopName: string | null;
}

/** An order that may be outdated is not payable. */
export function stateShown(
  order: CheckoutOrder,
  { nowSeconds, doubtful }: Pick<PageContext, 'nowSeconds' | 'doubtful'>,
): CheckoutState {
  const state = stateOf(order, nowSeconds);
  return doubtful && isPayable(state) ? 'checking' : state;
}

export function defaultPageContext(nowSeconds: number): PageContext {
  return {
    nowSeconds,
    offline: false,
    doubtful: false,
    wallets: [],
    asking: null,
    walletBusy: false,
    onItsWay: false,
    mayPayAgain: false,
    walletNotice: null,
    pageUrl: null,
    host: null,
    shopName: null,
  };
}
