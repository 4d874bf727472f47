import type { Say } from '../texts/create-say.ts';
import {
  dueAmount,
  isChosen,
  isOpen,
  urgencyOf,
  type CheckoutOrder,
  type CheckoutState,
} from '../view/checkout-order.ts';
import { foldsIn, type Fold } from '../view/folds.ts';
import { formatCountdown } from '../view/format-countdown.ts';
import { markup, type Html } from '../view/html.ts';
import { brandOf, renderBrand, renderNoticeMain, titleOf, type PageData } from '../view/render-document.ts';
import { coinKey } from '../view/render-choice.ts';
import { renderOrder } from '../view/render-order.ts';
import { ringShare } from '../view/render-payment.ts';
import { accentValues, isColour } from '../view/theme.ts';
import {
  NO_CHOICE,
  stateShown,
  type ChoiceView,
  type PageContext,
  type WalletNotice,
} from '../view/page-context.ts';
import { askWallet } from './ask-wallet.ts';
import { describePageContext } from './page-context.ts';
import type { LastCoin } from './last-coin.ts';
import { morph } from './morph.ts';
import type { ChoiceResult } from './order-client.ts';
import type { HeldPayment, SentPayments } from './sent-payments.ts';
import { watchPayment } from './watch-payment.ts';
import type { PayingWallet, RemoteWallet } from './wallets/wallet.ts';

export interface ScreenDeps {
  readonly document: Document;
  readonly say: Say;
  readonly data: Pick<PageData, 'apiBase' | 'brand'>;
  readonly sent: SentPayments;
  readonly lastCoin: LastCoin;
  readonly nowMs: () => number;
  readonly timeZone: string;
  readonly refresh: () => Promise<CheckoutOrder | undefined>;
  readonly choose: (coin: Coin) => Promise<ChoiceResult['outcome']>;
}

type Coin = Pick<CheckoutOrder, 'chain' | 'symbol'>;
type Wallet = PayingWallet | RemoteWallet;

export interface Screen {
  showOrder(order: CheckoutOrder): void;
  showReachable(reachable: boolean): void;
  /** Time has jumped: the page asks for no payment until the next order is shown. */
  doubt(): void;
  /** Wallets that can pay on the chain. */
  showWallets(chain: CheckoutOrder['chain'], wallets: readonly Wallet[]): void;
  showNotice(title: string, text: string, orderId: string | null): void;
  tick(): void;
  /** `key`: a `coinKey` of the order. Resolves to true once the page shows how to pay in that coin. */
  choose(key: string): Promise<boolean>;
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
  wallets: ReadonlyMap<CheckoutOrder['chain'], readonly Wallet[]>;
  choice: ChoiceView;
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
    wallets: new Map(),
    choice: { ...NO_CHOICE, before: deps.lastCoin.get() },
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
      const isOther = state.order !== null && asksFor(state.order) !== asksFor(order);
      if (!isOpen(order)) deps.sent.forget();
      const read = { order, receivedAtMs: deps.nowMs(), doubtful: false };
      change({ ...read, ...(isOther && state.asking === null ? { notice: null } : {}) });
    },
    showReachable: (reachable) => change({ offline: !reachable }),
    doubt: () => change({ doubtful: true }),
    showWallets: (chain, wallets) => change({ wallets: new Map(state.wallets).set(chain, wallets) }),
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
    choose: (key) => choose(deps, state, key),
    payWith: (walletId) => payWith(deps, state, walletId),
    allowAgain() {
      if (state.order === null || surroundingsOf(deps, state, state.order).held === null) return;
      deps.sent.forget();
      change({ notice: null });
    },
    open(fold) {
      change({ opened: new Set([...state.opened, fold]), choice: { ...state.choice, notice: null } });
    },
    redraw: () => show(deps, state),
    watchPayment: async () =>
      watchPayment({
        held: () => (state.order === null ? undefined : heldOf(deps, state, state.order)),
        wallets: () => [...state.wallets.values()].flat(),
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

function asksFor(order: CheckoutOrder): string {
  return `${coinKey(order)} ${dueAmount(order).text}`;
}

function walletsFor({ wallets }: State, order: CheckoutOrder): readonly Wallet[] {
  return isChosen(order) ? (wallets.get(order.chain) ?? []) : [];
}

async function choose(deps: ScreenDeps, state: State, key: string): Promise<boolean> {
  const coin = state.order?.options?.find((option) => coinKey(option) === key);
  if (coin === undefined || state.choice.asked !== null) return false;
  const { before } = state.choice;
  changeState(deps, state, { choice: { before, asked: key, notice: null } });
  const outcome = await deps.choose(coin);
  if (outcome === 'ANSWERED') deps.lastCoin.set(key);
  // The order is closed: the page shows why.
  const order = outcome === 'REJECTED' ? await deps.refresh() : undefined;
  const isDone = outcome === 'ANSWERED' || order !== undefined;
  const notice = isDone ? null : outcome === 'SLOW_DOWN' ? 'tooManyRequestsHint' : 'notAvailableHint';
  const opened = isDone ? new Set([...state.opened].filter((fold) => fold !== 'choose')) : state.opened;
  changeState(deps, state, { choice: { before, asked: null, notice }, opened });
  return isDone;
}

async function payWith(deps: ScreenDeps, state: State, walletId: string): Promise<void> {
  const { order } = state;
  if (order === null) return;
  const wallet = walletsFor(state, order).find(({ id }) => id === walletId);
  if (wallet === undefined) return;
  // Another tab may have started a payment that this page does not show yet.
  if (surroundingsOf(deps, state, order).walletBusy) return show(deps, state);
  changeState(deps, state, { asking: walletId, notice: { text: 'walletAsked', wallet: wallet.name } });
  const { sent, refresh } = deps;
  const nowSeconds = (read: CheckoutOrder) => serverSeconds(deps, state, read);
  const coin = coinKey(order);
  const paysAnyway = () => state.opened.has('anyway');
  const notice = await askWallet({ sent, coin, refresh, nowSeconds, paysAnyway }, wallet);
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
  const { asking, notice, offline, doubtful, opened, choice } = state;
  const wallets = walletsFor(state, order);
  const nowSeconds = serverSeconds(deps, state, order);
  const held = heldOf(deps, state, order);
  const { href: pageUrl, host } = deps.document.location;
  const { name: shopName } = deps.data.brand;
  const { timeZone } = deps;
  const known = { nowSeconds, timeZone, asking, notice, offline, doubtful, wallets, opened, held, choice };
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
  const { document } = deps;
  put(document, renderOrder(order, around, deps.say));
  // The dialog that connects a wallet leads nowhere once the page asks no wallet.
  if (!state.doubtful && document.querySelector('[data-wallet]') === null)
    document.querySelector('dialog')?.close();
  showBrand(deps, order);
  state.shownState = stateShown(order, around);
  state.urgency = urgencyOf(order, around.nowSeconds);
  document.title = titleOf(order, state.shownState, deps.say);
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
