import { expect, it, vi } from 'vitest';
import { createAttemptSlots } from './attempt-slots.ts';

it('frees a slot when its attempt ends, and most of it when the attempt is slow', async () => {
  vi.useFakeTimers();
  let woken = 0;
  const slots = createAttemptSlots({ concurrency: 8, slowAfterMs: 100, onRoom: () => void (woken += 1) });
  expect(slots.free()).toEqual({ limit: 8, openLimit: 6, probeLimit: 8 });
  const ends: (() => void)[] = [];
  const take = (isProbe = false) => slots.take(new Promise<void>((end) => ends.push(end)), { isProbe });
  for (let i = 0; i < 7; i += 1) take(i < 3);
  expect(slots.free()).toEqual({ limit: 1, openLimit: 0, probeLimit: 5 });
  ends[0]!();
  await Promise.resolve().then(() => undefined);
  expect(slots.free()).toEqual({ limit: 2, openLimit: 0, probeLimit: 6 });
  vi.advanceTimersByTime(100);
  expect(slots.free()).toEqual({ limit: 8, openLimit: 6, probeLimit: 6 });
  expect(woken).toBe(7);
  // 64 attempts in all, a quarter of them reserved; six already wait.
  for (let i = 0; i < 6; i += 1) {
    for (let j = 0; j < 8; j += 1) take();
    vi.advanceTimersByTime(100);
  }
  expect(slots.free()).toMatchObject({ limit: 8, openLimit: 0 });
  for (let j = 0; j < 8; j += 1) take();
  vi.advanceTimersByTime(100);
  expect(slots.free()).toMatchObject({ limit: 2, openLimit: 0 });
  for (const end of ends) end();
  await slots.ended();
  expect(slots.free()).toEqual({ limit: 8, openLimit: 6, probeLimit: 8 });
  vi.useRealTimers();
});
