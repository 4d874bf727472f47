/** How long a group of calls waits for its turn, or that it is not let in. */
export type Admission =
  | {
      readonly admitted: true;
      readonly waitMs: number;
      /** Gives back the places of calls never sent. */ cancel(): void;
    }
  | { readonly admitted: false; /** After that it would be let in. */ readonly waitMs: number };

/**
 * Spaces the calls to one URL. With a rate given it is a token bucket of one second's worth. Without one it lets
 * everything through; a complaint of the provider is a pause, a second one soon after is a limit to be found: down by
 * a third at each complaint, up a little every few seconds without one.
 */
export interface RateLimiter {
  /** Takes places for `count` calls. Not admitted when the turn would come later than `patienceMs`. */
  admit(count: number, patienceMs: number): Admission;
  /** Milliseconds until the last of `count` calls would be let through, were they sent from now on. */
  estimateMs(count: number): number;
  /** Milliseconds until a call would be let through. */
  waitMs(): number;
  /** The most calls to send at once; Infinity without a limit. */
  burst(): number;
  /** The provider complained; gives how long it is left alone: as it asked, within bounds, or longer each time. */
  refused(retryAfterMs?: number): number;
  /** The provider answered without complaint. */
  answered(): void;
  /** Calls per second at the moment; Infinity without a limit. */
  rate(): number;
}

export interface RateLimiterConfig {
  /** What the operator says the provider allows: never more, and less while the provider complains. */
  readonly requestsPerSecond?: number | undefined;
  /** Monotonic. @default performance.now */
  readonly nowMs?: () => number;
}

/** A longer Retry-After is cut to this: one wrong header must not take a source out for a day. */
export const RETRY_AFTER_MS_MAX = 60_000;
const PAUSE_MS = 250;
const PAUSE_MS_MAX = 30_000;
const DECREASE = 0.7;
/** Refusals of calls that were under way together count once. */
const DECREASE_EVERY_MS = 1_000;
const INCREASE_EVERY_MS = 2_000;
const INCREASE = 0.1;
/** Near to where the provider complained last it goes slowly: each step too far costs a refusal. */
const NEAR = 0.85;
const NEAR_INCREASE_EVERY_MS = 15_000;
const NEAR_INCREASE = 0.03;
const LEARNED_MIN = 1;
/** A single complaint says little: providers also send one when they are busy themselves. */
const COMPLAINTS_BELONG_MS = 10_000;
const LEARNED_FIRST_MIN = 10;
/** A learned limit is one of the average at first: a batch goes in one piece, unless that is refused again and again. */
const LEARNED_BURST = 25;
const STRICT_AFTER_REFUSALS = 3;
const STRICT_MS = 5 * 60 * 1_000;
/** A learned limit that has grown to this is none any more. */
const LEARNED_MAX = 500;
const OBSERVED_MS = 2_000;
const SENT_KEPT = 1_000;

export function createRateLimiter(config: RateLimiterConfig = {}): RateLimiter {
  const nowMs = config.nowMs ?? (() => performance.now());
  const learned = createLearnedRate(config.requestsPerSecond ?? Infinity, nowMs);
  /** Calls that may go at once; negative: calls already promised a later place. */
  let places = learned.burst();
  let filledAtMs = nowMs();
  let pausedUntilMs = -Infinity;
  let refusals = 0;

  function refill(): void {
    const now = nowMs();
    // While the provider wants to be left alone nothing is saved up.
    const sinceMs = Math.max(0, now - Math.max(filledAtMs, pausedUntilMs));
    const burst = learned.burst();
    places = burst === Infinity ? Infinity : Math.min(burst, places + (sinceMs / 1_000) * learned.rate());
    filledAtMs = now;
  }

  function waitFor(count: number): number {
    refill();
    const pauseMs = Math.max(0, pausedUntilMs - nowMs());
    const short = Math.min(count, learned.burst()) - places;
    return places === Infinity || short <= 0 ? pauseMs : pauseMs + (short / learned.rate()) * 1_000;
  }

  return {
    admit(count, patienceMs) {
      const turnMs = waitFor(1);
      if (turnMs > patienceMs) return { admitted: false, waitMs: turnMs };
      const waitMs = waitFor(count);
      places -= count;
      learned.sent(count);
      return { admitted: true, waitMs, cancel: () => void (places += count) };
    },
    estimateMs(count) {
      const beyond = Math.max(0, count - learned.burst());
      return waitFor(count) + (beyond === 0 ? 0 : (beyond / learned.rate()) * 1_000);
    },
    waitMs: () => waitFor(1),
    burst: learned.burst,
    refused(retryAfterMs) {
      refill();
      refusals += 1;
      if (learned.decrease(refusals)) places = Math.min(places, 0);
      const ownMs = Math.min(PAUSE_MS_MAX, PAUSE_MS * 2 ** Math.min(refusals - 1, 20));
      const pauseMs = Math.min(retryAfterMs ?? ownMs, RETRY_AFTER_MS_MAX);
      pausedUntilMs = Math.max(pausedUntilMs, nowMs() + pauseMs);
      return pauseMs;
    },
    answered() {
      refusals = 0;
      refill();
      learned.increase();
    },
    rate: learned.rate,
  };
}

interface LearnedRate {
  rate(): number;
  burst(): number;
  sent(count: number): void;
  /** After the so-manieth complaint in a row; whether the rate is another one now. */
  decrease(refusals: number): boolean;
  increase(): void;
}

function createLearnedRate(ceiling: number, nowMs: () => number): LearnedRate {
  const floor = Math.min(LEARNED_MIN, ceiling);
  const sent = createSentCount(nowMs);
  let rate = ceiling;
  /** At which the provider complained last. */
  let refusedRate = Infinity;
  let refusedAtMs = -Infinity;
  let changedAtMs = -Infinity;
  let strictUntilMs = -Infinity;

  /** The rate after one more complaint; undefined when it is too early to tell. */
  function lower(): number | undefined {
    if (rate !== Infinity) return Math.max(floor, rate * DECREASE);
    const sinceMs = nowMs() - refusedAtMs;
    if (sinceMs > COMPLAINTS_BELONG_MS || sinceMs < DECREASE_EVERY_MS) return undefined;
    return Math.max(LEARNED_FIRST_MIN, sent.perSecond() * DECREASE);
  }

  return {
    rate: () => rate,
    burst() {
      if (rate === Infinity) return Infinity;
      const loose = ceiling === Infinity && nowMs() >= strictUntilMs;
      return Math.max(loose ? LEARNED_BURST : 1, Math.floor(rate));
    },
    sent: sent.add,
    decrease(refusals) {
      if (refusals >= STRICT_AFTER_REFUSALS) strictUntilMs = nowMs() + STRICT_MS;
      const next = nowMs() - changedAtMs < DECREASE_EVERY_MS ? undefined : lower();
      // Complaints about calls that were under way together are one.
      if (nowMs() - refusedAtMs >= DECREASE_EVERY_MS) refusedAtMs = nowMs();
      if (next === undefined) return false;
      refusedRate = rate;
      rate = next;
      changedAtMs = nowMs();
      return true;
    },
    increase() {
      const near = rate >= refusedRate * NEAR;
      const everyMs = near ? NEAR_INCREASE_EVERY_MS : INCREASE_EVERY_MS;
      if (rate >= ceiling || nowMs() - changedAtMs < everyMs) return;
      rate = Math.min(ceiling, rate + (near ? rate * NEAR_INCREASE : Math.max(1, rate * INCREASE)));
      changedAtMs = nowMs();
      if (ceiling === Infinity && rate >= LEARNED_MAX) rate = Infinity;
    },
  };
}

/** How many calls per second were sent of late. */
function createSentCount(nowMs: () => number): { add(count: number): void; perSecond(): number } {
  let sent: { readonly atMs: number; readonly count: number }[] = [];
  const ofLate = (): typeof sent => sent.filter(({ atMs }) => atMs > nowMs() - OBSERVED_MS);
  return {
    add(count) {
      sent.push({ atMs: nowMs(), count });
      if (sent.length > SENT_KEPT) sent = ofLate().slice(-SENT_KEPT / 2);
    },
    perSecond: () => ofLate().reduce((sum, { count }) => sum + count, 0) / (OBSERVED_MS / 1_000),
  };
}
