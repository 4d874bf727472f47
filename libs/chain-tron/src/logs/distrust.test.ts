import { expect, test } from 'vitest';
import type { TronSource } from '../tron-sources.ts';
import { createDistrust } from './distrust.ts';

test('distrusts a source for a minute, then twice as long each time, up to an hour', () => {
  const [source, other] = [{}, {}] as TronSource[] as [TronSource, TronSource];
  let nowMs = 0;
  const distrust = createDistrust(() => nowMs);
  const minutes: number[] = [];
  for (let times = 0; times < 8; times += 1) {
    distrust.begin(source);
    const beganMs = nowMs;
    while (distrust.isOn(source)) nowMs += 60_000;
    minutes.push((nowMs - beganMs) / 60_000);
  }
  expect(minutes).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  expect(distrust.isOn(other)).toBe(false);
});
