import type { Say } from '../texts/create-say.ts';
import {
  dueAmount,
  isOpen,
  urgencyOf,
  type CheckoutOrder,
  type CheckoutState,
} from '../view/checkout-order.ts';
import { foldsIn, type Fold } from '../view/folds.ts';
import { formatCountdown } from '../view/format-countdown.ts';
import { markup, type Html } from '../view/html.ts';
import { brandOf, renderBrand, renderNoticeMain, titleOf, type PageData } from '../view/render-document.ts';
import { renderOrder } from '../view/render-order.ts';
import { ringShare } from '../view/render-payment.ts';
import { accentValues, isColour } from '../view/theme.ts';
import { stateShown, type PageContext, type WalletNotice } from '../view/page-context.ts';
import { askWallet } from './ask-wallet.ts';
import { describePageContext } from './page-context.ts';
import { morph } from './morph.ts';
import type { HeldPayment, SentPayments } from './sent-payments.ts';
import { watchPayment } from './watch-payment.ts';
import type { PayingWallet } from './wallets/wallet.ts';

export interface ScreenDeps {
  readonly document: Document;
  readonly say: Say;
  readonly data: Pick<PageData, 'apiBase' | 'brand'>;
  readonly sent: SentPayments;
  readonly nowMs: () => number;
  readonly timeZone: string;
  readonly refresh: () => Promise<CheckoutOrder | undefined>;
}

export interface Screen {
  showOrder(order: CheckoutOrder): void;
  showReachable(reachable: boolean): void;
  /** Time has jumped: the page asks for no payment until the next order is shown. */
  doubt(): void;
  showWallets(wallets: readonly PayingWallet[]): void;
  showNotice(title: string, text: string, orderId: string | null): void;
  tick(): void;
  payWith(walletId: string): Promise<void>;
  /** The payer confirmed that the wallet did not send: a wallet may be asked again. */
  allowAgain(): void;
  open(fold: Fold): void;
  redraw(): void;
  watchPayment(): Promise<void>;
}

interface State {
  order: CheckoutOrder | null;
  receivedAtMs: number;
  offline: boolean;
  doubtful: boolean;
  wallets: readonly PayingWallet[];
  /** The id of the wallet that is being asked. */
  asking: string | null;
  notice: WalletNotice | null;
  shownState: CheckoutState | undefined;
  urgency: string | undefined;
  opened: ReadonlySet<Fold>;
}

export function createScreen(deps: ScreenDeps, first: CheckoutOrder | null): Screen {
  const state: State = {
    order: first,
    receivedAtMs: deps.nowMs(),
    offline: false,
    doubtful: false,
    wallets: [],
    asking: null,
    notice: null,
    shownState: undefined,
    urgency: undefined,
    opened: foldsIn(new URLSearchParams(deps.document.location.search)),
  };
  const { document } = deps;
  const change = (changes: Partial<State>): void => changeState(deps, state, changes);
  return {
    showOrder(order) {
      const isOther = state.order !== null && dueAmount(state.order).text !== dueAmount(order).text;
      if (!isOpen(order)) deps.sent.forget();
      const read = { order, receivedAtMs: deps.nowMs(), doubtful: false };
      change({ ...read, ...(isOther && state.asking === null ? { notice: null } : {}) });
    },
    showReachable: (reachable) => change({ offline: !reachable }),
    doubt: () => change({ doubtful: true }),
    showWallets: (wallets) => change({ wallets }),
    showNotice(title, text, orderId) {
      state.order = null;
      const notice = { title, text, orderId, seal: 'close', links: [] } as const;
      put(document, renderNoticeMain(notice, deps.say, document.location.host));
      document.title = title;
    },
    tick() {
      if (state.order === null) return;
      const around = surroundingsOf(deps, state, state.order);
      if (isStale(state, state.order, around)) return show(deps, state);
      const { nowSeconds } = around;
      showTime(document, Math.max(0, state.order.expiredTime - nowSeconds));
    },
    payWith: (walletId) => payWith(deps, state, walletId),
    allowAgain() {
      if (state.order === null || surroundingsOf(deps, state, state.order).held === null) return;
      deps.sent.forget();
      change({ notice: null });
    },
    open: (fold) => change({ opened: new Set([...state.opened, fold]) }),
    redraw: () => show(deps, state),
    watchPayment: async () =>
      watchPayment({
        held: () => (state.order === null ? undefined : heldOf(deps, state, state.order)),
        wallets: () => state.wallets,
        onReverted(transaction) {
          deps.sent.reverted(transaction);
          show(deps, state);
        },
      }),
  };
}

function changeState(deps: ScreenDeps, state: State, changes: Partial<State>): void {
  Object.assign(state, changes);
  show(deps, state);
}

async function payWith(deps: ScreenDeps, state: State, walletId: string): Promise<void> {
  const wallet = state.wallets.find(({ id }) => id === walletId);
  if (wallet === undefined || state.order === null) return;
  // Another tab may have started a payment that this page does not show yet.
  if (surroundingsOf(deps, state, state.order).walletBusy) return show(deps, state);
  changeState(deps, state, { asking: walletId, notice: { text: 'walletAsked', wallet: wallet.name } });
  const { sent, refresh } = deps;
  const nowSeconds = (order: CheckoutOrder) => serverSeconds(deps, state, order);
  const paysAnyway = () => state.opened.has('anyway');
  const notice = await askWallet({ sent, refresh, nowSeconds, paysAnyway }, wallet);
  changeState(deps, state, { asking: null, notice });
}

function showTime(document: Document, seconds: number): void {
  const clock = document.querySelector('[data-seconds-left]');
  const text = formatCountdown(seconds);
  if (clock === null || clock.textContent === text) return;
  clock.textContent = text;
  const part = `${Math.round(ringShare(seconds) * 100)} 100`;
  document.querySelector('.clock .part')?.setAttribute('stroke-dasharray', part);
}

function serverSeconds(deps: ScreenDeps, state: State, order: CheckoutOrder): number {
  return order.serverTime + Math.floor((deps.nowMs() - state.receivedAtMs) / 1000);
}

function heldOf(deps: ScreenDeps, state: State, order: CheckoutOrder): HeldPayment | undefined {
  return deps.sent.find(order, serverSeconds(deps, state, order));
}

function surroundingsOf(deps: ScreenDeps, state: State, order: CheckoutOrder): PageContext {
  const { asking, notice, offline, doubtful, wallets, opened } = state;
  const nowSeconds = serverSeconds(deps, state, order);
  const held = heldOf(deps, state, order);
  const { href: pageUrl, host } = deps.document.location;
  const { name: shopName } = deps.data.brand;
  const { timeZone } = deps;
  const known = { nowSeconds, timeZone, asking, notice, offline, doubtful, wallets, opened, held };
  return describePageContext({ ...known, pageUrl, host, shopName });
}

/** Time changes more than the countdown. */
function isStale(state: State, order: CheckoutOrder, around: PageContext): boolean {
  return (
    stateShown(order, around) !== state.shownState || urgencyOf(order, around.nowSeconds) !== state.urgency
  );
}

function show(deps: ScreenDeps, state: State): void {
  const { order } = state;
  if (order === null) return;
  const around = surroundingsOf(deps, state, order);
  put(deps.document, renderOrder(order, around, deps.say));
  showBrand(deps, order);
  state.shownState = stateShown(order, around);
  state.urgency = urgencyOf(order, around.nowSeconds);
  deps.document.title = titleOf(order, state.shownState, deps.say);
}

/** The page of a static host learns of the merchant with its first order. */
function showBrand({ document, data }: ScreenDeps, order: CheckoutOrder): void {
  put(document, renderBrand(brandOf(order, data), document.location.host), '.brand');
  const accent = order.merchant?.accentColor;
  if (!isColour(accent)) return;
  const { style } = document.documentElement;
  for (const [name, value] of accentValues(accent)) style.setProperty(name, value);
}

function put(document: Document, wanted: Html, place = 'main'): void {
  const template = document.createElement('template');
  template.innerHTML = wanted.html;
  const next = template.content.firstElementChild;
  const current = document.querySelector(place);
  if (next !== null && current !== null) morph(current, next);
}

/** Live region for screen readers. Created once, empty. */
export function createAnnouncer(document: Document): (text: string) => void {
  const template = document.createElement('template');
  template.innerHTML = markup`<p class="unseen" role="status"></p>`.html;
  const region = template.content.firstElementChild;
  if (region !== null) document.querySelector('.page')?.append(region);
  return (text) => {
    if (region !== null) region.textContent = text;
  };
}
