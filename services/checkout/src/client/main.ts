import { createSay, type Say } from '../texts/create-say.ts';
import { isLanguage, preferredLanguage, type Language } from '../texts/languages.ts';
import type { Fold } from '../view/folds.ts';
import { OPTION_FIELD } from '../view/render-choice.ts';
import { isChosen, type CheckoutOrder } from '../view/checkout-order.ts';
import { renderLanguages, type PageData } from '../view/render-document.ts';
import { directionOf } from '../view/theme.ts';
import { createClockWatch } from './detect-time-jump.ts';
import { copyText } from './copy-text.ts';
import { followOrder, type Following } from './follow-order.ts';
import { createLastCoin } from './last-coin.ts';
import { loadTexts } from './load-texts.ts';
import { createOrderClient } from './order-client.ts';
import { createAnnouncer, createScreen, type Screen } from './screen.ts';
import { createSentPayments } from './sent-payments.ts';
import { discoverWallets, type WalletScope } from './wallets/discover-wallets.ts';
import { walletConnectOn } from './wallets/wallet-connect.ts';

/** For the payer to name to the shop; other characters could pass for a text of the page. */
const ORDER_ID = /^[\w.:~@-]{1,64}$/;
const COPIED_SHOWN_MS = 2_000;
const TICK_MS = 1_000;
const WATCH_PAYMENT_MS = 5_000;

/** The server's rendering stays in place until something changes. */
async function start(): Promise<void> {
  const data = JSON.parse(document.getElementById('page-data')?.textContent ?? '{}') as PageData;
  const query = new URLSearchParams(location.search);
  const language = data.language ?? chooseLanguage(query);
  const say = createSay(language, await loadTexts(language));
  if (data.language === null) translatePage(language, say);
  const [orderId, sign] = [query.get('orderId') ?? '', query.get('sign') ?? ''];
  const client = createOrderClient({ apiBase: data.apiBase, orderId, sign }, (...request) =>
    fetch(...request),
  );
  const searched = new Set<CheckoutOrder['chain']>();
  const screen = createScreen(
    {
      document,
      say,
      data,
      sent: createSentPayments(orderId, storageOf(window), Date.now),
      lastCoin: createLastCoin(storageOf(window)),
      nowMs: () => performance.now(),
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      async refresh() {
        const order = await following.refresh();
        return time.checkClocks() ? undefined : order; // the answer may be from before the machine slept
      },
      choose: (coin) => following.choose(coin),
    },
    data.order,
  );
  listen(screen, say);
  document.documentElement.classList.add('scripted');
  if (data.isNotice === true) return;
  const findWallets = (order: CheckoutOrder): void => {
    if (!isChosen(order) || searched.has(order.chain)) return;
    const { chain } = order;
    searched.add(chain);
    const remote = walletConnectOn(chain, data.walletConnect, say);
    if (remote.length > 0) screen.showWallets(chain, remote);
    discoverWallets(window as unknown as WalletScope, { chain }, (wallets) =>
      screen.showWallets(chain, [...wallets, ...remote]),
    );
  };
  const following = followOrder(
    {
      client,
      openStream: 'EventSource' in window ? (url) => new EventSource(url) : undefined,
      isVisible: () => document.visibilityState === 'visible',
      onOrder(order) {
        screen.showOrder(order);
        findWallets(order);
        time.checkClocks();
      },
      onReachable: screen.showReachable,
      onRefused(httpStatus) {
        const name = httpStatus === 404 ? 'notFound' : 'linkNotValid';
        screen.showNotice(say(name), say('linkNotValidHint'), ORDER_ID.test(orderId) ? orderId : null);
      },
      random: Math.random,
    },
    data.order,
  );
  const time = watchTime(screen, following);
  // The server does not know which wallet was asked before a reload.
  screen.redraw();
  if (data.order !== null) findWallets(data.order);
  addEventListener('storage', screen.redraw);
  void watchPayments(screen);
}

/** Polls one payment at a time. A wallet that does not answer is not polled again. */
async function watchPayments(screen: Screen): Promise<void> {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, WATCH_PAYMENT_MS));
    await screen.watchPayment();
  }
}

/** A time jump (the machine slept or the page was frozen) invalidates the order shown. */
function watchTime(screen: Screen, following: Following): { checkClocks(): boolean } {
  const isVisible = () => document.visibilityState === 'visible';
  const clocks = createClockWatch({ wallMs: Date.now, monotonicMs: () => performance.now(), isVisible });
  const checkClocks = (cameBack = false): boolean => {
    if (!clocks.hasJumped() && !cameBack) return false;
    screen.doubt();
    following.doubt();
    return true;
  };
  const wake = (): void => {
    if (!checkClocks() && isVisible()) following.wake();
  };
  document.addEventListener('visibilitychange', wake);
  addEventListener('online', wake);
  addEventListener('focus', () => checkClocks());
  // Restored from the browser's back/forward cache, where the page was frozen.
  addEventListener('pageshow', ({ persisted }) => checkClocks(persisted));
  setInterval(() => {
    checkClocks();
    screen.tick();
  }, TICK_MS);
  return { checkClocks };
}

/** The page of a static host uses the address' parameter, else the browser's language. */
function chooseLanguage(query: URLSearchParams): Language {
  const asked = query.get('lang');
  return isLanguage(asked) ? asked : preferredLanguage(navigator.languages);
}

function translatePage(language: Language, say: Say): void {
  document.documentElement.lang = language;
  document.documentElement.dir = directionOf(language);
  const links = document.querySelector('.languages');
  if (links !== null) links.outerHTML = renderLanguages(language, say, location.search).html;
  const [heading, hint] = [document.querySelector('h1'), document.querySelector('noscript')];
  if (heading !== null) heading.textContent = say('loading');
  hint?.remove();
}

/** One listener for the whole page, since the elements are replaced. */
function listen(screen: Screen, say: Say): void {
  const announce = createAnnouncer(document);
  document.addEventListener('click', (event) => {
    if (!(event.target instanceof Element)) return;
    const wallet = event.target.closest<HTMLElement>('[data-wallet]')?.dataset['wallet'];
    if (wallet !== undefined) void screen.payWith(wallet);
    if (event.target.closest('[data-print]') !== null) print();
    if (event.target.closest('[data-pay-again]') !== null) screen.allowAgain();
    const link = event.target.closest<HTMLElement>('[data-open-fold]');
    if (link !== null) open(link, event, screen);
    const button = event.target.closest<HTMLElement>('[data-copy]');
    if (button !== null) void copy(button, say, announce);
    const languages = document.querySelector<HTMLDetailsElement>('.languages[open]');
    if (languages !== null && !languages.contains(event.target)) languages.open = false;
  });
  document.addEventListener('submit', (event) => {
    const button = event.submitter;
    if (!(button instanceof HTMLButtonElement) || button.name !== OPTION_FIELD) return;
    event.preventDefault();
    void screen.choose(button.value).then((isDone) => {
      // While the server was asked, the button was disabled and lost the focus.
      (isDone ? document.getElementById('pay') : button)?.focus();
      return null;
    });
  });
  document.addEventListener('keydown', (event) => {
    const languages = document.querySelector<HTMLDetailsElement>('.languages[open]');
    if (event.key !== 'Escape' || languages === null) return;
    languages.open = false;
    languages.querySelector('summary')?.focus();
  });
}

/** In place. A click that opens another tab keeps its meaning. */
function open(link: HTMLElement, event: MouseEvent, screen: Screen): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  const fold = link.dataset['openFold'] as Fold;
  screen.open(fold);
  document.getElementById(fold)?.focus();
}

async function copy(button: HTMLElement, say: Say, announce: (text: string) => void): Promise<void> {
  if ('copied' in button.dataset) return;
  const copied = await copyText(button.dataset['copy'] ?? '');
  announce(say(copied ? 'copied' : 'copyFailed'));
  if (!copied) return;
  button.dataset['copied'] = '';
  setTimeout(() => {
    announce('');
    delete button.dataset['copied'];
  }, COPIED_SHOWN_MS);
}

/** The browser's settings may block access. */
function storageOf(scope: Window): Storage | undefined {
  try {
    return scope.localStorage;
  } catch {
    return undefined;
  }
}

await start();
