import type { Surroundings, WalletNotice, WalletView } from '../view/surroundings.ts';
import type { HeldPayment } from './sent-payments.ts';

export interface Known {
  /** The server's time, Unix seconds. */
  readonly nowSeconds: number;
  readonly offline: boolean;
  /** The clock jumped, and the server has not answered since: what is shown may be long over. */
  readonly doubtful: boolean;
  readonly wallets: readonly WalletView[];
  /** A wallet is being asked by this page. */
  readonly asking: boolean;
  /** What was said last. */
  readonly notice: WalletNotice | null;
  /** What may be on its way. */
  readonly held: HeldPayment | undefined;
  readonly pageUrl: string;
}

/** What the browser knows beside the order, as the order is drawn by it. */
export function describeSurroundings(known: Known): Surroundings {
  const { nowSeconds, offline, doubtful, wallets, asking, notice, held, pageUrl } = known;
  return {
    nowSeconds,
    offline,
    doubtful,
    wallets,
    walletBusy: asking || offline || held !== undefined,
    onItsWay: asking || held !== undefined,
    mayPayAgain: !asking && held !== undefined && (held.state !== 'SENT' || held.overdue),
    walletNotice: asking ? notice : noticeOf(held, notice),
    pageUrl,
  };
}

/** That something may be on its way is said as long as it is held to be. */
function noticeOf(held: HeldPayment | undefined, notice: WalletNotice | null): WalletNotice | null {
  if (held !== undefined) return { text: textOf(held), wallet: held.wallet };
  return notice?.text === 'walletSent' || notice?.text === 'walletFailed' ? null : notice;
}

function textOf({ state, overdue }: HeldPayment): WalletNotice['text'] {
  if (state === 'REVERTED') return 'walletReverted';
  if (state === 'UNSURE') return 'walletFailed';
  return overdue ? 'walletOverdue' : 'walletSent';
}
