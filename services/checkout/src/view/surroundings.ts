import type { TextName } from '../texts/en.ts';

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
  readonly wallets: readonly WalletView[];
  /** A wallet has been asked or may have sent, or the server can't be asked: no wallet may be asked now. */
  readonly walletBusy: boolean;
  /** A payment is, or may be, on its way: nothing invites to a second one. */
  readonly onItsWay: boolean;
  /** Whether a wallet has sent is not known: who has looked may say that it has not. */
  readonly unsure: boolean;
  readonly walletNotice: WalletNotice | null;
}

/** How the server, and every page at first, sees an order. */
export function bareSurroundings(nowSeconds: number): Surroundings {
  return {
    nowSeconds,
    offline: false,
    wallets: [],
    walletBusy: false,
    onItsWay: false,
    unsure: false,
    walletNotice: null,
  };
}
