import type { TextName } from '../texts/en.ts';
import {
  isChosen,
  isPayable,
  isRunningOut,
  stateOf,
  type CheckoutOrder,
  type CheckoutState,
} from './checkout-order.ts';
import type { Fold } from './folds.ts';

/** The id of the wallet that WalletConnect connects. */
export const WALLET_CONNECT = 'walletconnect';

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

/** A payment that a wallet was asked to send and that has not arrived. */
export interface HeldView {
  readonly state: Extract<CheckoutState, 'sent' | 'overdue' | 'unsure' | 'reverted'>;
  readonly wallet: string;
  readonly transaction: string | null;
  readonly explorerTxUrl: string | null;
}

/** Coins as `coinKey` names them. */
export interface ChoiceView {
  /** Chosen for another order of this browser. */
  readonly before: string | null;
  /** The server is being asked for it. */
  readonly asked: string | null;
  readonly notice: Extract<TextName, 'tooManyRequestsHint' | 'notAvailableHint'> | null;
}

export const NO_CHOICE: ChoiceView = { before: null, asked: null, notice: null };

/** The server knows only the time. */
export interface PageContext {
  readonly nowSeconds: number;
  /** IANA name of the payer's time zone. */
  readonly timeZone: string;
  readonly offline: boolean;
  readonly doubtful: boolean;
  readonly wallets: readonly WalletView[];
  /** The id of the wallet whose owner is being asked. */
  readonly asking: string | null;
  /** No wallet may be asked now: one was asked or may have sent, or the server is unreachable. */
  readonly walletBusy: boolean;
  /** Null while its wallet is still being asked. */
  readonly held: HeldView | null;
  readonly choice: ChoiceView;
  readonly walletNotice: WalletNotice | null;
  readonly pageUrl: string | null;
  readonly opened: ReadonlySet<Fold>;
  /** The page's own host, for the line at its end. */
  readonly host: string | null;
  /** The name of the gateway's theme, for merchants without a name. */
  readonly shopName: string | null;
}

/** An order that may be outdated, or whose payment is on its way, is not payable. */
export function stateShown(
  order: CheckoutOrder,
  { nowSeconds, doubtful, held, opened }: Pick<PageContext, 'nowSeconds' | 'doubtful' | 'held' | 'opened'>,
): CheckoutState {
  const state = stateOf(order, nowSeconds);
  if (!isPayable(state) && state !== 'choose') return state;
  if (doubtful) return 'checking';
  if (held !== null) return held.state;
  if (isRunningOut(order, nowSeconds)) return 'tooLate';
  return isChosen(order) && order.options !== undefined && opened.has('choose') ? 'choose' : state;
}

export function defaultPageContext(nowSeconds: number): PageContext {
  return {
    nowSeconds,
    timeZone: 'UTC',
    offline: false,
    doubtful: false,
    wallets: [],
    asking: null,
    walletBusy: false,
    held: null,
    choice: NO_CHOICE,
    walletNotice: null,
    pageUrl: null,
    opened: new Set(),
    host: null,
    shopName: null,
  };
}
