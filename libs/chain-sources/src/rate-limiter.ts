export type Admission =
  | {
      readonly admitted: true;
      readonly waitMs: number;
      /** Releases the places of calls that were not sent. */ cancel(): void;
    }
  | { readonly admitted: false; /** Until it would be admitted. */ readonly waitMs: number };

/**
 * Spaces the calls to one URL. With a configured rate it is a token bucket of one second's worth. Without one, a
 * provider's first rate-limit error causes a pause. A second one soon after sets a limit, which falls by a third with
 * each error and rises a little every few seconds without one.
 */
export interface RateLimiter {
  /** Reserves `count` calls, unless they would have to wait longer than `maxWaitMs`. */
  admit(count: number, maxWaitMs: number): Admission;
  /** Time until the last of `count` calls would be sent, starting now. */
  estimateMs(count: number): number;
  waitMs(): number;
  /** Calls at once; Infinity without a limit. */
  burst(): number;
  /** Returns the pause: the provider's own, within bounds, or a growing one. */
  refused(retryAfterMs?: number): number;
  answered(): void;
  /** Calls per second; Infinity without a limit. */
  rate(): number;
}

export interface RateLimiterConfig {
  /** Never exceeded, and reduced while the provider reports rate limits. */
  readonly requestsPerSecond?: number | undefined;
  /** Monotonic. @default performance.now */
  readonly nowMs?: () => number;
}

/** Cap on Retry-After: one wrong header must not disable a source for a day. */
export const RETRY_AFTER_MS_MAX = 60_000;
const PAUSE_MS = 250;
const PAUSE_MS_MAX = 30_000;
const DECREASE = 0.7;
/** Rejections of calls that were in flight together count once. */
const DECREASE_EVERY_MS = 1_000;
const INCREASE_EVERY_MS = 2_000;
const INCREASE = 0.1;
/** Close to the last rejected rate it rises slowly: each step too far costs a rejection. */
const NEAR = 0.85;
const NEAR_INCREASE_EVERY_MS = 15_000;
const NEAR_INCREASE = 0.03;
const LEARNED_MIN = 1;
/** A single report proves little: providers also send it under their own load. */
const COMPLAINTS_BELONG_MS = 10_000;
const LEARNED_FIRST_MIN = 10;
/** A learned limit is an average at first: a batch goes in one piece unless the provider rejects repeatedly. */
const LEARNED_BURST = 25;
const STRICT_AFTER_REFUSALS = 3;
const STRICT_MS = 5 * 60 * 1_000;
const LEARNED_MAX = 500;
const OBSERVED_MS = 2_000;
const SENT_KEPT = 1_000;

export function createRateLimiter(config: RateLimiterConfig = {}): RateLimiter {
  const nowMs = config.nowMs ?? (() => performance.now());
  const learned = createLearnedRate(config.requestsPerSecond ?? Infinity, nowMs);
  /** Negative: calls that are already admitted for later. */
  let places = learned.burst();
  let filledAtMs = nowMs();
  let pausedUntilMs = -Infinity;
  let refusals = 0;

  function refill(): void {
    const now = nowMs();
    // No calls accumulate during a pause.
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
    admit(count, maxWaitMs) {
      const turnMs = waitFor(1);
      if (turnMs > maxWaitMs) return { admitted: false, waitMs: turnMs };
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
  /** `refusals`: rejections in a row. Returns true if the rate changed. */
  decrease(refusals: number): boolean;
  increase(): void;
}

function createLearnedRate(ceiling: number, nowMs: () => number): LearnedRate {
  const floor = Math.min(LEARNED_MIN, ceiling);
  const sent = createSentCount(nowMs);
  let rate = ceiling;
  let refusedRate = Infinity;
  let refusedAtMs = -Infinity;
  let changedAtMs = -Infinity;
  let strictUntilMs = -Infinity;

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
