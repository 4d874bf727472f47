import { describe, expect, it } from 'vitest';
import { nextAttemptDelayMs } from './retry-schedule.ts';

const SCHEDULE = [1, 5, 30];

describe('nextAttemptDelayMs', () => {
  it('follows the schedule and never shortens a pause', () => {
    expect(nextAttemptDelayMs(SCHEDULE, 1, () => 0)).toBe(1000);
    expect(nextAttemptDelayMs(SCHEDULE, 2, () => 0)).toBe(5000);
    expect(nextAttemptDelayMs(SCHEDULE, 3, () => 0.999)).toBeLessThanOrEqual(36_000);
    expect(nextAttemptDelayMs(SCHEDULE, 3, () => 0.5)).toBeGreaterThan(30_000);
  });

  it('ends the schedule after the last pause', () => {
    expect(nextAttemptDelayMs(SCHEDULE, 4, () => 0)).toBeUndefined();
  });
});
