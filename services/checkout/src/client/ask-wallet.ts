import {
  isChosen,
  isPayable,
  isQuestioned,
  isRunningOut,
  stateOf,
  type CheckoutOrder,
  type PayableOrder,
} from '../view/checkout-order.ts';
import type { WalletNotice } from '../view/page-context.ts';
import { coinKey } from '../view/render-choice.ts';
import type { SentPayments } from './sent-payments.ts';
import type { PayingWallet, RemoteWallet, WalletOutcome } from './wallets/wallet.ts';

export interface AskWalletDeps {
  readonly sent: SentPayments;
  /** As the page shows it. Another tab may have chosen another one. */
  readonly coin: string;
  readonly refresh: () => Promise<CheckoutOrder | undefined>;
  readonly nowSeconds: (order: CheckoutOrder) => number;
  /** The payer chose to pay although money arrived that does not count. */
  readonly paysAnyway: () => boolean;
}

const NOTICES: Readonly<Record<WalletOutcome['outcome'], WalletNotice['text']>> = {
  SENT: 'walletSent',
  REFUSED: 'walletRefused',
  WRONG_NETWORK: 'walletWrongNetwork',
  UNABLE: 'walletUnable',
  NOT_READY: 'walletNotReady',
  FAILED: 'walletFailed',
};

/** Skips the wallet while an earlier payment, from any tab, may be pending. */
export async function askWallet(
  deps: AskWalletDeps,
  wallet: PayingWallet | RemoteWallet,
): Promise<WalletNotice | null> {
  const order = await deps.refresh();
  if (order === undefined) return { text: 'walletNotAsked', wallet: wallet.name };
  const nowSeconds = deps.nowSeconds(order);
  const state = stateOf(order, nowSeconds);
  if (!isPayable(state) || isRunningOut(order, nowSeconds)) return null;
  if (!isChosen(order) || coinKey(order) !== deps.coin) return null;
  if (isQuestioned(order, state) && !deps.paysAnyway()) return null;
  if (deps.sent.find(order, nowSeconds) !== undefined) return null;
  if ('connect' in wallet) return connectAndAsk(deps, wallet, order);
  const asked = deps.sent.begin(order, wallet);
  const answer = await answerOf(wallet, order);
  if (answer.outcome === 'SENT') asked.sent(answer.transaction ?? null);
  else if (answer.outcome !== 'FAILED') asked.nothingSent();
  return { text: NOTICES[answer.outcome], wallet: wallet.name };
}

/** Reads the order again: to connect a wallet can take minutes. */
async function connectAndAsk(
  deps: AskWalletDeps,
  wallet: RemoteWallet,
  order: PayableOrder,
): Promise<WalletNotice | null> {
  const connected = await wallet.connect(order);
  if (connected === null) return null;
  if ('outcome' in connected) return { text: NOTICES[connected.outcome], wallet: wallet.name };
  try {
    return await askWallet(deps, connected);
  } finally {
    connected.disconnect();
  }
}

async function answerOf(wallet: PayingWallet, order: PayableOrder): Promise<WalletOutcome> {
  try {
    return await wallet.pay(order);
  } catch {
    return { outcome: 'FAILED' };
  }
}
