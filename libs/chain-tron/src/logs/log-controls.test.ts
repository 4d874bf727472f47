import { expect, test } from 'vitest';
import type { TronSource } from '../tron-sources.ts';
import { createLogControls, unprovenHeights } from './log-controls.ts';
import type { TokenLog } from './read-logs.ts';

const PAIR = [{ label: 'a' }, { label: 'b' }] as unknown as readonly [TronSource, TronSource];
const TOKEN = 'a';
const logAt = (height: number, amount = 1n) => ({ height, amount, tokenHex: TOKEN }) as TokenLog;
const BUSY = 20;
const logsAt = (height: number) => Array.from({ length: BUSY }, () => logAt(height));
const ONE = { from: 1_001, to: 1_001 };

/** Controls of a chain with so many transfers that one block suffices. */
function controlsOfBusyChain() {
  const controls = createLogControls();
  const shown = [logsAt(1_000), logsAt(1_001)];
  expect(controls.agree(PAIR, [ONE, ONE], [TOKEN], [shown, shown])).toHaveLength(2);
  return controls;
}

test('controls the block below a range, its last one, and some between', () => {
  const ends = (from: number, to: number) =>
    controlsOfBusyChain()
      .controlsFor({ from, to })
      .map((one) => [one.from, one.to]);
  expect(ends(1_001, 1_001)).toEqual([
    [1_000, 1_000],
    [1_001, 1_001],
  ]);
  expect(ends(1_001, 1_032).map(([, to]) => to)).toEqual([1_000, 1_032, 1_016]);
});

test('controls more blocks where transfers are rare', () => {
  const controls = createLogControls();
  const blocks = () => controls.controlsFor({ from: 1_001, to: 1_032 }).map(({ from, to }) => to - from + 1);
  controls.agree(PAIR, [ONE], [TOKEN], [[[]], [[]]]);
  expect(blocks()).toEqual([8, 8, 8, 8, 8]);
  controls.agree(PAIR, [ONE], [TOKEN], [[logsAt(1)], [[]]]);
  expect(blocks()).toEqual([1, 1, 1]);
});

test('counts a height only between known transfers close to each other', () => {
  const range = { from: 101, to: 120 };
  expect(unprovenHeights(range, [100, 110, 120])).toEqual([]);
  expect(unprovenHeights(range, [101, 115, 120])).toEqual([]);
  expect(unprovenHeights(range, [105, 115, 118])).toEqual([101, 102, 103, 104, 119, 120]);
  expect(unprovenHeights({ from: 101, to: 117 }, [100, 117])).toHaveLength(16);
});

test('shows payments only with a control that is at most 100 blocks below', () => {
  const controls = controlsOfBusyChain();
  const has = (from: number) => PAIR.map((source) => controls.hasRecent(source, from));
  expect([has(1_001), has(1_002), has(1_101), has(1_102)]).toEqual([
    [false, false],
    [true, true],
    [true, true],
    [false, false],
  ]);
});

test('forgets earlier controls after an empty or different one', () => {
  for (const theirs of [[], [logAt(1_002, 2n)], [logAt(1_002), logAt(1_002)]]) {
    const controls = controlsOfBusyChain();
    const answers = [
      [logsAt(1_001), [logAt(1_002)]],
      [logsAt(1_001), theirs],
    ] as const;
    expect(controls.agree(PAIR, [ONE, ONE], [TOKEN], answers)).toBeUndefined();
    expect(PAIR.map((source) => controls.hasRecent(source, 1_002))).toEqual([false, false]);
  }
});

test('forgets the controls of a source that fails', () => {
  const controls = controlsOfBusyChain();
  controls.forget(PAIR[0]);
  expect(PAIR.map((source) => controls.hasRecent(source, 1_002))).toEqual([false, true]);
});

test('needs a canary of each token in each control', () => {
  const controls = createLogControls();
  const shown = [logsAt(1_000), logsAt(1_001)];
  expect(controls.agree(PAIR, [ONE, ONE], [TOKEN, 'b'], [shown, shown])).toBeUndefined();
});
