import { isOpen, type CheckoutOrder } from '../view/checkout-order.ts';
import { openOrderStream, type KeptStream, type OrderStream } from './order-stream.ts';
import type { ApiResult, ChoiceResult, OrderClient } from './order-client.ts';

export interface FollowDeps {
  readonly client: OrderClient;
  readonly openStream: ((url: string) => OrderStream) | undefined;
  readonly isVisible: () => boolean;
  readonly onOrder: (order: CheckoutOrder) => void;
  readonly onReachable: (reachable: boolean) => void;
  /** The link is invalid or names no order. Called only before the first order; polling then ends. */
  readonly onRefused: (httpStatus: 401 | 404) => void;
  readonly random: () => number;
}

export interface Following {
  /** Polls now. Undefined when the API is unreachable or its answers keep changing. */
  refresh(): Promise<CheckoutOrder | undefined>;
  /** Chooses a coin of the order, and shows the order with it. */
  choose(coin: Pick<CheckoutOrder, 'chain' | 'symbol'>): Promise<ChoiceResult['outcome']>;
  wake(): void;
  /** Time has jumped: only answers to new requests count from now on. */
  doubt(): void;
}

/** An order's endpoints allow two requests per second; this leaves room for several tabs. */
const POLL_MS = 3_000;
const POLL_UNSEEN_MS = 15_000;
/** An expired order may still be paid late or be accepted by an operator. */
const POLL_EXPIRED_MS = 15_000;
/** A final order changes only by payments that do not count for it: 30 minutes of polls while the page is visible. */
const SETTLED_POLLS_MAX = (30 * 60_000) / POLL_EXPIRED_MS;
const BACKOFF_FIRST_MS = 1_000;
const BACKOFF_MAX_MS = 30_000;
const JITTER_MS = 1_000;
/** With diverging server clocks each stream message may cause a poll; this limits them. */
const POLL_BEHIND_MS = 1_000;
const REFRESH_TRIES = 3;

interface State {
  latest: CheckoutOrder | null;
  /** Orders shown so far. An answer to a request from before the last one may be older. */
  shown: number;
  /** Time jumps so far. Answers to requests from before the last one are dropped. */
  doubts: number;
  /** The whole order must be read: after a time jump, or a stream message that may be older. */
  doubted: boolean;
  reachable: boolean;
  failures: number;
  settledPolls: number;
  stopped: boolean;
  timer: ReturnType<typeof setTimeout> | undefined;
  stream: KeptStream | undefined;
}

/**
 * Reports every change of an order. The server's stream counts while it sends; while it connects, has failed or is
 * silent, the page polls. Polling reads only the status before the first payment and after the last, and the whole
 * order in between. A final order may still receive a payment that does not count.
 *
 * Ordering: the answer to a request made after an order was shown is newer than that order. A stream message is newer
 * too, unless an answer overtook it. Server times order them only when the servers share a clock. So an older time
 * never drops a message; it makes the page poll.
 */
export function followOrder(deps: FollowDeps, first: CheckoutOrder | null): Following {
  const state: State = {
    latest: first,
    shown: 0,
    doubts: 0,
    doubted: false,
    reachable: true,
    failures: 0,
    settledPolls: 0,
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
    if (isSettled(state.latest)) state.settledPolls += 1;
    const asked = await askNext(client, state);
    if (doubts !== state.doubts) return; // the time jump has started a new poll
    const pauseMs = applyAnswer(deps, state, asked, shown);
    if (!isWatched(deps, state)) return;
    if (state.doubted || state.stream?.isSpeaking() !== true) poll(pauseMs);
  };
  state.stream = openOrderStream({
    open: openStream === undefined ? undefined : () => openStream(client.eventsUrl),
    onOrder(order) {
      if (state.latest !== null && order.serverTime < state.latest.serverTime) {
        if (!state.doubted) poll(POLL_BEHIND_MS);
        state.doubted = true;
        return;
      }
      clearTimeout(state.timer);
      applyOrder(deps, state, order);
      if (!isOpen(order)) poll(POLL_EXPIRED_MS);
    },
    onSpeaking() {
      if (!state.doubted) clearTimeout(state.timer);
      setReachable(deps, state, true);
    },
    onSilent: () => poll(0),
  });
  if (first === null || isOpen(first)) state.stream.start();
  poll(first === null ? 0 : isSettled(first) ? POLL_EXPIRED_MS : POLL_MS);
  return {
    async refresh() {
      for (let tries = 0; tries < REFRESH_TRIES && isUndecided(state); tries += 1) {
        const { shown, doubts } = state;
        const asked = await client.pay();
        if (doubts !== state.doubts) return undefined;
        applyAnswer(deps, state, asked, shown);
        if (asked.outcome !== 'ANSWERED') return undefined;
        if (asked.data === state.latest) return asked.data;
      }
      return isUndecided(state) ? undefined : (state.latest ?? undefined);
    },
    choose: async (coin) => chooseCoin(deps, state, coin),
    // Also while the stream is active: a stream that broke in the background is detected only later.
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

async function chooseCoin(
  deps: FollowDeps,
  state: State,
  coin: Parameters<Following['choose']>[0],
): Promise<ChoiceResult['outcome']> {
  const { doubts } = state;
  const asked = await deps.client.choose(coin);
  if (asked.outcome === 'ANSWERED' && doubts === state.doubts) applyOrder(deps, state, asked.data);
  return asked.outcome;
}

/** Reads only the status of an unpaid or final order without doubt, and the order after a change. */
async function askNext(
  client: OrderClient,
  { latest, doubted }: Pick<State, 'latest' | 'doubted'>,
): Promise<ApiResult<CheckoutOrder | 'UNCHANGED'>> {
  if (latest === null || (latest.status !== 'INIT' && !isSettled(latest)) || doubted) return client.pay();
  // Its status does not show that another tab has chosen another coin.
  if (latest.options !== undefined && isOpen(latest)) return client.pay();
  const asked = await client.status();
  if (asked.outcome !== 'ANSWERED') return asked;
  const { status, unmatched = [] } = asked.data;
  // Newest first, and limited: a new one may leave the length as it is.
  const isSame = status === latest.status && hashesOf(unmatched) === hashesOf(latest.unmatched ?? []);
  return isSame ? { ...asked, data: 'UNCHANGED' } : client.pay();
}

function hashesOf(payments: readonly { readonly txid: string }[]): string {
  return payments.map(({ txid }) => txid).join();
}

/** @returns milliseconds until the next poll */
function applyAnswer(
  deps: FollowDeps,
  state: State,
  asked: ApiResult<CheckoutOrder | 'UNCHANGED'>,
  shownBefore: number,
): number {
  switch (asked.outcome) {
    case 'ANSWERED':
      setReachable(deps, state, true);
      if (asked.data !== 'UNCHANGED' && state.shown === shownBefore) applyOrder(deps, state, asked.data);
      if (state.latest !== null && !isOpen(state.latest)) return POLL_EXPIRED_MS;
      return deps.isVisible() ? POLL_MS : POLL_UNSEEN_MS;
    case 'SLOW_DOWN':
      return asked.waitMs + deps.random() * JITTER_MS;
    case 'REFUSED':
      // An order that was shown exists; a customer who may have paid it must not lose the page.
      if (state.latest !== null) return backOff(deps, state);
      if (!state.stopped) deps.onRefused(asked.httpStatus);
      stop(state);
      return POLL_MS;
    case 'UNREACHABLE':
      return backOff(deps, state);
  }
}

function backOff(deps: FollowDeps, state: State): number {
  setReachable(deps, state, false);
  state.failures += 1;
  const backoffMs = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** (state.failures - 1));
  return backoffMs * (0.5 + deps.random() / 2);
}

function setReachable(deps: FollowDeps, state: State, reachable: boolean): void {
  if (reachable) state.failures = 0;
  // The payer of a final order waits for no answer.
  if (state.reachable === reachable || (!reachable && !isUndecided(state))) return;
  state.reachable = reachable;
  deps.onReachable(reachable);
}

function applyOrder(deps: FollowDeps, state: State, order: CheckoutOrder): void {
  if (state.stopped) return;
  state.latest = order;
  state.doubted = false;
  state.shown += 1;
  deps.onOrder(order);
  if (!isOpen(order)) state.stream?.stop();
}

function isSettled(order: CheckoutOrder | null): boolean {
  return order?.status === 'SUCCESS' || order?.status === 'FAILED';
}

function isUndecided({ stopped, latest }: Pick<State, 'stopped' | 'latest'>): boolean {
  return !stopped && !isSettled(latest);
}

/** An invisible page of a final order polls once it is visible again: see `wake`. */
function isWatched({ isVisible }: FollowDeps, { latest, settledPolls }: State): boolean {
  return !isSettled(latest) || (isVisible() && settledPolls < SETTLED_POLLS_MAX);
}

function stop(state: State): void {
  state.stopped = true;
  state.stream?.stop();
  clearTimeout(state.timer);
}
