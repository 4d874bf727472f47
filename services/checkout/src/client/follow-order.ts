import { isOpen, type CheckoutOrder } from '../view/checkout-order.ts';
import { keepStream, type KeptStream, type OrderStream } from './keep-stream.ts';
import type { Asked, OrderClient } from './order-client.ts';

export interface FollowDeps {
  readonly client: OrderClient;
  /** Undefined where the browser has no server-sent events. */
  readonly openStream: ((url: string) => OrderStream) | undefined;
  /** Whether somebody looks at the page; who doesn't is asked for less often. */
  readonly isVisible: () => boolean;
  readonly onOrder: (order: CheckoutOrder) => void;
  /** Whether the API could be reached, at each edge. */
  readonly onReachable: (reachable: boolean) => void;
  /** The link is not valid, or names no order: said only while no order was shown. Nothing follows. */
  readonly onRefused: (httpStatus: 401 | 404) => void;
  /** In [0, 1). */
  readonly random: () => number;
}

export interface Following {
  /** Asks now; what was answered, and is shown. Undefined when the API can't be reached, or what it says changes meanwhile. */
  refresh(): Promise<CheckoutOrder | undefined>;
  /** Somebody looks again, or the network is back. */
  wake(): void;
  /** Time has jumped: nothing counts but what the server answers from now on, neither what it was asked before nor its stream. */
  doubt(): void;
}

/** An order's endpoints take two requests a second; a page that is open twice stays far below it. */
const POLL_MS = 3_000;
const POLL_UNSEEN_MS = 15_000;
/** What expired may still be paid late, or be accepted by an operator. */
const POLL_EXPIRED_MS = 15_000;
const BACKOFF_FIRST_MS = 1_000;
const BACKOFF_MAX_MS = 30_000;
const JITTER_MS = 1_000;
/** Where clocks are apart every word of the stream may lead to a question. */
const POLL_BEHIND_MS = 1_000;
const REFRESH_TRIES = 3;

interface State {
  latest: CheckoutOrder | null;
  /** How often something was shown. What was asked for before may be older. */
  shown: number;
  /** Counts the doubts. What was asked before one is no answer after it. */
  doubts: number;
  /** The whole order is to be asked for: since the last doubt, or since the stream said what may be older. */
  doubted: boolean;
  reachable: boolean;
  failures: number;
  stopped: boolean;
  timer: ReturnType<typeof setTimeout> | undefined;
  stream: KeptStream | undefined;
}

/**
 * Tells of every change of an order until it is settled.
 *
 * Two ways: the server's stream while it speaks; else polling. While the stream connects, has failed or is silent, the
 * page polls, so that at no time it depends on the stream. Polling asks for the status alone while nothing has come,
 * and for the whole order from then on.
 *
 * What was asked for after something was shown is newer than that. What the stream says is newer as well, unless an answer
 * overtook it. The time of the servers tells that only where they have one clock, so it is never what leaves something
 * out: where it goes back, the page asks.
 */
export function followOrder(deps: FollowDeps, first: CheckoutOrder | null): Following {
  const state: State = {
    latest: first,
    shown: 0,
    doubts: 0,
    doubted: false,
    reachable: true,
    failures: 0,
    stopped: false,
    timer: undefined,
    stream: undefined,
  };
  const { client, openStream } = deps;
  const poll = (afterMs: number): void => {
    clearTimeout(state.timer);
    if (!state.stopped) state.timer = setTimeout(() => void pollOnce(), afterMs);
  };
  const pollOnce = async (): Promise<void> => {
    const { shown, doubts } = state;
    const asked = await askNext(client, state);
    if (doubts !== state.doubts) return; // which has begun to ask anew
    const pauseMs = hear(deps, state, asked, shown);
    if (state.doubted || state.stream?.isSpeaking() !== true) poll(pauseMs);
  };
  state.stream = keepStream({
    open: openStream === undefined ? undefined : () => openStream(client.eventsUrl),
    onOrder(order) {
      if (state.latest !== null && order.serverTime < state.latest.serverTime) {
        if (!state.doubted) poll(POLL_BEHIND_MS);
        state.doubted = true;
        return;
      }
      clearTimeout(state.timer);
      take(deps, state, order);
      if (!isOpen(order)) poll(POLL_EXPIRED_MS);
    },
    onSpeaking() {
      if (!state.doubted) clearTimeout(state.timer);
      setReachable(deps, state, true);
    },
    onSilent: () => poll(0),
  });
  if (first === null || isOpen(first)) state.stream.start();
  if (first !== null && isSettled(first)) stop(state);
  poll(first === null ? 0 : POLL_MS);
  return {
    async refresh() {
      for (let tries = 0; tries < REFRESH_TRIES && !state.stopped; tries += 1) {
        const { shown, doubts } = state;
        const asked = await client.pay();
        if (doubts !== state.doubts) return undefined;
        hear(deps, state, asked, shown);
        if (asked.outcome !== 'ANSWERED') return undefined;
        if (asked.data === state.latest) return asked.data;
      }
      // What is settled stays as it is.
      return state.stopped ? (state.latest ?? undefined) : undefined;
    },
    // Also while the stream speaks: one that broke while nobody looked is known to be silent only later.
    wake: () => poll(0),
    doubt() {
      if (state.stopped) return;
      state.doubts += 1;
      state.doubted = true;
      if (state.latest === null || isOpen(state.latest)) state.stream?.renew();
      poll(0);
    },
  };
}

/** The whole order, but for one that waits and is not in doubt: of that the status, until it is another. */
async function askNext(
  client: OrderClient,
  { latest, doubted }: Pick<State, 'latest' | 'doubted'>,
): Promise<Asked<CheckoutOrder | 'UNCHANGED'>> {
  if (latest === null || latest.status !== 'INIT' || doubted) return client.pay();
  const asked = await client.status();
  if (asked.outcome !== 'ANSWERED') return asked;
  return asked.data.status === latest.status ? { ...asked, data: 'UNCHANGED' } : client.pay();
}

/** Takes an answer in; milliseconds until the next question. */
function hear(
  deps: FollowDeps,
  state: State,
  asked: Asked<CheckoutOrder | 'UNCHANGED'>,
  shownBefore: number,
): number {
  switch (asked.outcome) {
    case 'ANSWERED':
      setReachable(deps, state, true);
      if (asked.data !== 'UNCHANGED' && state.shown === shownBefore) take(deps, state, asked.data);
      if (state.latest !== null && !isOpen(state.latest)) return POLL_EXPIRED_MS;
      return deps.isVisible() ? POLL_MS : POLL_UNSEEN_MS;
    case 'SLOW_DOWN':
      return asked.waitMs + deps.random() * JITTER_MS;
    case 'REFUSED':
      // An order that was shown exists, and nobody who may have paid it is left without it.
      if (state.latest !== null) return backOff(deps, state);
      if (!state.stopped) deps.onRefused(asked.httpStatus);
      stop(state);
      return POLL_MS;
    case 'UNREACHABLE':
      return backOff(deps, state);
  }
}

/** Nothing was heard; milliseconds until the next question. */
function backOff(deps: FollowDeps, state: State): number {
  setReachable(deps, state, false);
  state.failures += 1;
  const backoffMs = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** (state.failures - 1));
  return backoffMs * (0.5 + deps.random() / 2);
}

function setReachable(deps: FollowDeps, state: State, reachable: boolean): void {
  if (reachable) state.failures = 0;
  if (state.reachable === reachable || state.stopped) return;
  state.reachable = reachable;
  deps.onReachable(reachable);
}

function take(deps: FollowDeps, state: State, order: CheckoutOrder): void {
  if (state.stopped) return;
  state.latest = order;
  state.doubted = false;
  state.shown += 1;
  deps.onOrder(order);
  if (isSettled(order)) stop(state);
  else if (!isOpen(order)) state.stream?.stop();
}

/** Nothing more will happen to it. */
function isSettled({ status }: CheckoutOrder): boolean {
  return status === 'SUCCESS' || status === 'FAILED';
}

function stop(state: State): void {
  state.stopped = true;
  state.stream?.stop();
  clearTimeout(state.timer);
}
