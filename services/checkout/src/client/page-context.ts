import type { Fold } from '../view/folds.ts';
import type { ChoiceView, HeldView, PageContext, WalletNotice, WalletView } from '../view/page-context.ts';
import type { HeldPayment } from './sent-payments.ts';

export interface Known {
  readonly nowSeconds: number;
  readonly timeZone: string;
  readonly offline: boolean;
  /** The clock jumped, and the server has not answered since: the order may be outdated. */
  readonly doubtful: boolean;
  readonly wallets: readonly WalletView[];
  /** The id of the wallet that is being asked. */
  readonly asking: string | null;
  readonly notice: WalletNotice | null;
  readonly held: HeldPayment | undefined;
  readonly choice: ChoiceView;
  readonly pageUrl: string;
  readonly opened: ReadonlySet<Fold>;
  readonly host: string;
  readonly shopName: string;
}

export function describePageContext(known: Known): PageContext {
  const { asking, notice, held, ...shown } = known;
  const isAsking = asking !== null;
  return {
    ...shown,
    asking,
    walletBusy: isAsking || shown.offline || held !== undefined,
    held: isAsking || held === undefined ? null : viewOf(held),
    walletNotice: isAsking || !isOutcome(notice) ? notice : null,
  };
}

/** The page shows these outcomes as a held payment, and nothing once that has arrived. */
function isOutcome(notice: WalletNotice | null): boolean {
  return notice?.text === 'walletSent' || notice?.text === 'walletFailed';
}

function viewOf({ state, overdue, wallet, transaction, explorerTxUrl }: HeldPayment): HeldView {
  const states = { SENT: overdue ? 'overdue' : 'sent', UNSURE: 'unsure', REVERTED: 'reverted' } as const;
  return { state: states[state], wallet, transaction, explorerTxUrl };
}
