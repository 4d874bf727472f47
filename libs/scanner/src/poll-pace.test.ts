import { describe, expect, it } from 'vitest';
import { createPollPace } from './poll-pace.ts';

function paced(): { at(ms: number): boolean; hintAt(ms: number): void; forget(): void } {
  let nowMs = 0;
  const pace = createPollPace({ blockTimeMs: 2_000, pollIntervalMs: 1_000 }, { now: () => new Date(nowMs) });
  return {
    forget: pace.forget,
    at(ms) {
      nowMs = ms;
      return pace.isDue();
    },
    hintAt(ms) {
      nowMs = ms;
      pace.hinted();
    },
  };
}

describe('poll pace', () => {
  it('makes every poll without a subscription', () => {
    const pace = paced();
    expect([0, 1_000, 2_000, 3_000].map((ms) => pace.at(ms))).toEqual([true, true, true, true]);
  });

  it('polls at each hint and skips three of four other polls while hints arrive', () => {
    const pace = paced();
    pace.hintAt(0);
    expect(pace.at(1)).toBe(true);
    expect([1_000, 2_000, 3_000].map((ms) => pace.at(ms))).toEqual([false, false, false]);
    pace.hintAt(3_500);
    expect(pace.at(3_501)).toBe(true);
    expect([4_500, 5_500, 6_500].map((ms) => pace.at(ms))).toEqual([false, false, false]);
    expect(pace.at(7_490)).toBe(true); // the timer fired early
  });

  it('makes every poll again when hints stop', () => {
    const pace = paced();
    pace.hintAt(0);
    expect(pace.at(1)).toBe(true);
    expect([4_001, 5_001, 6_001, 7_001].map((ms) => pace.at(ms))).toEqual([true, true, true, true]);
  });

  it('makes every poll at once when the subscription ends', () => {
    const pace = paced();
    pace.hintAt(0);
    expect(pace.at(1)).toBe(true);
    pace.forget();
    expect([1_000, 2_000, 3_000].map((ms) => pace.at(ms))).toEqual([true, true, true]);
  });
});
