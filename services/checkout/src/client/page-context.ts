import type { PageContext, WalletNotice, WalletView } from '../view/page-context.ts';
import type { HeldPayment } from './sent-payments.ts';

export interface Known {
  readonly nowSeconds: number;
  readonly offline: boolean;
  /** The clock jumped, and the server has not answered since: the order may be outdated. */
  readonly doubtful: boolean;
  readonly wallets: readonly WalletView[];
  /** The id of the wallet that is being asked. */
  readonly asking: string | null;
  readonly notice: WalletNotice | null;
  readonly held: HeldPayment | undefined;
  readonly pageUrl: string;
  readonly host: string;
  readonly shopName: string;
}

export function describePageContext(known: Known): PageContext {
  const { nowSeconds, offline, doubtful, wallets, asking, notice, held, pageUrl, host, shopName } = known;
  const isAsking = asking !== null;
  return {
    nowSeconds,
    offline,
    doubtful,
    wallets,
    asking,
    walletBusy: isAsking || offline || held !== undefined,
    onItsWay: isAsking || held !== undefined,
    mayPayAgain: !isAsking && held !== undefined && (held.state !== 'SENT' || held.overdue),
    walletNotice: isAsking ? notice : noticeOf(held, notice),
    pageUrl,
    host,
    shopName,
  };
}

/** The notice of a pending payment stays as long as the payment is held. */
function noticeOf(held: HeldPayment | undefined, notice: WalletNotice | null): WalletNotice | null {
  if (held !== undefined) return { text: textOf(held), wallet: held.wallet };
  return notice?.text === 'walletSent' || notice?.text === 'walletFailed' ? null : notice;
}

function textOf({ state, overdue }: HeldPayment): WalletNotice['text'] {
  if (state === 'REVERTED') return 'walletReverted';
  if (state === 'UNSURE') return 'walletFailed';
  return overdue ? 'walletOverdue' : 'walletSent';
}
