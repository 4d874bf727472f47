import { expect, test } from 'vitest';
import { createClockWatch } from './detect-time-jump.ts';

function aWatch() {
  const at = { wall: 1_800_000_000_000, monotonic: 5_000, visible: true };
  const watch = createClockWatch({
    wallMs: () => at.wall,
    monotonicMs: () => at.monotonic,
    isVisible: () => at.visible,
  });
  return {
    at,
    watch,
    pass: (wall: number, monotonic = wall) => void ((at.wall += wall), (at.monotonic += monotonic)),
  };
}

test('detects no jump when both clocks advance by a second', () => {
  const { watch, pass } = aWatch();
  for (let second = 0; second < 3_600; second += 1) {
    pass(1_000, 999);
    expect(watch.hasJumped()).toBe(false);
  }
});

test.each([
  ['a sleep that stopped the monotonic clock', 3_600_000, 20],
  ['a sleep during which it ran', 3_600_000, 3_600_000],
  ['a short one', 4_500, 900],
  ['a clock set forward', 61_000, 1_000],
  ['a clock set back', -3_599_000, 1_000],
])('detects a jump once: %s', (_what, wall, monotonic) => {
  const { watch, pass } = aWatch();
  pass(wall, monotonic);
  expect(watch.hasJumped()).toBe(true);
  pass(1_000);
  expect(watch.hasJumped()).toBe(false);
});

test('ignores the rare timers of a hidden page', () => {
  const { at, watch, pass } = aWatch();
  at.visible = false;
  expect(watch.hasJumped()).toBe(false);
  pass(60_000);
  expect(watch.hasJumped()).toBe(false);
  pass(60_000);
  at.visible = true;
  expect(watch.hasJumped()).toBe(false);
  pass(1_000);
  expect(watch.hasJumped()).toBe(false);
  // The machine slept, which is detected on a hidden page too.
  at.visible = false;
  pass(60_000, 1_000);
  expect(watch.hasJumped()).toBe(true);
});
