import { expect, test } from 'vitest';
import { createClockWatch } from './clock-watch.ts';

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

test('a second after the other is no jump', () => {
  const { watch, pass } = aWatch();
  for (let second = 0; second < 3_600; second += 1) {
    pass(1_000, 999);
    expect(watch.hasJumped()).toBe(false);
  }
});

test.each([
  ['a sleep in which the page’s clock stood still', 3_600_000, 20],
  ['a sleep in which it went on', 3_600_000, 3_600_000],
  ['a short one', 4_500, 900],
  ['a clock that was set forward', 61_000, 1_000],
  ['a clock that was set back', -3_599_000, 1_000],
])('%s is one, once', (_what, wall, monotonic) => {
  const { watch, pass } = aWatch();
  pass(wall, monotonic);
  expect(watch.hasJumped()).toBe(true);
  pass(1_000);
  expect(watch.hasJumped()).toBe(false);
});

test('a page that nobody looks at runs its timers rarely, and is not stopped by that', () => {
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
  // The machine slept meanwhile: known whoever looks.
  at.visible = false;
  pass(60_000, 1_000);
  expect(watch.hasJumped()).toBe(true);
});
