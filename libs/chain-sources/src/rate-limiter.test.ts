import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import type { RateLimiter } from './rate-limiter.ts';
import { createRateLimiter } from './rate-limiter.ts';

function limited(requestsPerSecond?: number): {
  limiter: RateLimiter;
  pass: (ms: number) => void;
  now: () => number;
} {
  let now = 0;
  return {
    limiter: createRateLimiter({ requestsPerSecond, nowMs: () => now }),
    pass: (ms) => (now += ms),
    now: () => now,
  };
}
const MAX_WAIT_MS = 5_000;

describe('createRateLimiter with a configured rate', () => {
  it('sends one second’s worth of calls at once and spaces the rest', () => {
    const { limiter, pass } = limited(10);
    expect(limiter.burst()).toBe(10);
    expect(limiter.admit(10, MAX_WAIT_MS)).toMatchObject({ admitted: true, waitMs: 0 });
    expect(limiter.admit(1, MAX_WAIT_MS)).toMatchObject({ admitted: true, waitMs: 100 });
    expect(limiter.admit(5, MAX_WAIT_MS)).toMatchObject({ admitted: true, waitMs: 600 });
    pass(600);
    expect(limiter.waitMs()).toBe(100);
    pass(10_000);
    expect(limiter.waitMs()).toBe(0);
    expect(limiter.estimateMs(10)).toBe(0);
    expect(limiter.estimateMs(30)).toBe(2_000);
  });

  it('rejects a call that would wait too long, without reserving a place', () => {
    const { limiter } = limited(1);
    for (let count = 0; count < 6; count += 1) limiter.admit(1, MAX_WAIT_MS);
    expect(limiter.admit(1, MAX_WAIT_MS)).toEqual({ admitted: false, waitMs: 6_000 });
    expect(limiter.waitMs()).toBe(6_000);
  });

  it('releases the places of cancelled calls', () => {
    const { limiter } = limited(1);
    limiter.admit(1, MAX_WAIT_MS);
    const admission = limiter.admit(1, MAX_WAIT_MS);
    if (!admission.admitted) throw new Error('not admitted');
    admission.cancel();
    expect(limiter.waitMs()).toBe(1_000);
  });

  it('never sends more calls in any period than the rate and one burst permit', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.tuple(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 0, max: 2_000 })), {
          maxLength: 60,
        }),
        (rate, calls) => {
          const { limiter, pass, now } = limited(rate);
          const sent: { atMs: number; count: number }[] = [];
          for (const [wanted, gapMs] of calls) {
            const count = Math.min(wanted, limiter.burst());
            const admission = limiter.admit(count, MAX_WAIT_MS);
            if (admission.admitted) {
              sent.push({ atMs: now() + admission.waitMs, count });
              expect(admission.waitMs).toBeLessThanOrEqual(MAX_WAIT_MS + 1_000);
            }
            pass(gapMs);
          }
          for (const { atMs: from } of sent) {
            for (const { atMs: to } of sent) {
              const within = sent.filter(({ atMs }) => atMs >= from && atMs <= to);
              const total = within.reduce((sum, { count }) => sum + count, 0);
              if (to >= from) expect(total).toBeLessThanOrEqual(rate + ((to - from) / 1_000) * rate + 1e-6);
            }
          }
        },
      ),
    );
  });

  it('goes below the rate after rate-limit errors, then back up to it, not above', () => {
    const { limiter, pass } = limited(100);
    limiter.refused();
    expect(limiter.rate()).toBeCloseTo(70);
    for (let second = 0; second < 60; second += 1) {
      pass(1_000);
      limiter.answered();
    }
    expect(limiter.rate()).toBe(100);
  });
});

describe('createRateLimiter without a configured rate', () => {
  it('sets no limit before the second rate-limit error', () => {
    const { limiter, pass } = limited();
    expect(limiter.admit(10_000, 0)).toMatchObject({ admitted: true, waitMs: 0 });
    expect(limiter.refused()).toBe(250);
    expect(limiter.waitMs()).toBe(250);
    expect(limiter.rate()).toBe(Infinity);
    pass(250);
    limiter.answered();
    expect(limiter.waitMs()).toBe(0);
    pass(20_000);
    limiter.refused();
    expect(limiter.rate()).toBe(Infinity);
  });

  /** Permits `allowed` calls in any second and counts rejected ones, too. */
  it('finds the rate that a provider permits and stays near it', () => {
    const { limiter, pass, now } = limited();
    const allowed = 40;
    let sent: number[] = [];
    let [answered, refused] = [0, 0];
    for (let tick = 0; tick < 60_000; tick += 1) {
      pass(10);
      if (limiter.waitMs() > 0) continue;
      const admission = limiter.admit(1, 0);
      if (!admission.admitted) continue;
      sent = sent.filter((atMs) => atMs > now() - 1_000);
      if (sent.length >= allowed) {
        refused += 1;
        limiter.refused();
      } else {
        sent.push(now());
        answered += 1;
        limiter.answered();
      }
    }
    // More than half of the permitted calls were used, and fewer than one in fifty was rejected.
    expect(answered / 600).toBeGreaterThan(allowed / 2);
    expect(refused / answered).toBeLessThan(0.02);
  });

  it('counts rate-limit errors of concurrent calls once', () => {
    const { limiter, pass } = limited();
    for (let count = 0; count < 100; count += 1) limiter.admit(1, 0);
    limiter.refused();
    pass(1_500);
    for (let count = 0; count < 10; count += 1) limiter.refused(0);
    const rate = limiter.rate();
    expect(rate).toBeCloseTo(35);
    expect(limiter.burst()).toBe(35);
  });

  it('sends a batch in one piece until repeated rejections', () => {
    const { limiter, pass } = limited();
    limiter.refused();
    pass(2_000);
    limiter.refused();
    expect(limiter.rate()).toBe(10);
    expect(limiter.burst()).toBe(25);
    pass(2_000);
    limiter.refused();
    expect(limiter.burst()).toBe(7);
  });

  it('obeys Retry-After, up to a minute', () => {
    const { limiter, pass } = limited();
    expect(limiter.refused(3_000)).toBe(3_000);
    expect(limiter.waitMs()).toBe(3_000);
    expect(limiter.admit(1, 2_000)).toEqual({ admitted: false, waitMs: 3_000 });
    pass(3_000);
    expect(limiter.refused(86_400_000)).toBe(60_000);
    expect(limiter.waitMs()).toBeGreaterThanOrEqual(60_000);
    expect(limiter.waitMs()).toBeLessThan(61_000);
  });

  it('doubles its pause with every rate-limit error in a row', () => {
    const { limiter, pass } = limited();
    const pauses = Array.from({ length: 10 }, () => {
      const pauseMs = limiter.refused();
      pass(pauseMs);
      return pauseMs;
    });
    expect(pauses).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  });
});
