import type { TextName } from '../texts/en.ts';
import { isPayable, stateOf, type CheckoutOrder, type CheckoutState } from './checkout-order.ts';

/** A wallet that announced itself to the page. */
export interface WalletView {
  readonly id: string;
  readonly name: string;
  /** A `data:` URL, else none is shown. */
  readonly icon: string | null;
}

/** What was said about the last attempt to pay with a wallet. */
export interface WalletNotice {
  readonly text: Extract<TextName, `wallet${string}`>;
  readonly wallet: string;
}

/** What the page knows beside the order. The server knows the time alone. */
export interface Surroundings {
  /** The server's time, Unix seconds. */
  readonly nowSeconds: number;
  readonly offline: boolean;
  /** The clock jumped, and the server has not answered since. */
  readonly doubtful: boolean;
  readonly wallets: readonly WalletView[];
  /** A wallet has been asked or may have sent, or the server can't be asked: no wallet may be asked now. */
  readonly walletBusy: boolean;
  /** A payment is, or may be, on its way: nothing invites to a second one. */
  readonly onItsWay: boolean;
  /** Whether a wallet has paid is not known, or long not seen: who has looked may say that it has not. */
  readonly mayPayAgain: boolean;
  readonly walletNotice: WalletNotice | null;
  /** Of this page in the browser; null where nobody knows it, on the server. */
  readonly pageUrl: string | null;
}

/** The state that is drawn: nothing is to be paid by what may be long over. */
export function stateShown(
  order: CheckoutOrder,
  { nowSeconds, doubtful }: Pick<Surroundings, 'nowSeconds' | 'doubtful'>,
): CheckoutState {
  const state = stateOf(order, nowSeconds);
  return doubtful && isPayable(state) ? 'checking' : state;
}

/** How the server, and every page at first, sees an order. */
export function bareSurroundings(nowSeconds: number): Surroundings {
  return {
    nowSeconds,
    offline: false,
    doubtful: false,
    wallets: [],
    walletBusy: false,
    onItsWay: false,
    mayPayAgain: false,
    walletNotice: null,
    pageUrl: null,
  };
}
