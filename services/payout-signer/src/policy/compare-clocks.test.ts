import { expect, test } from 'vitest';
import { compareClocks, type ClockReading } from './compare-clocks.ts';

const NOW = Date.parse('2026-11-23T08:00:00Z');
const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];

function reading(databaseMs: number, chainMs: number | null = 0, answerMs = 0): ClockReading {
  const timeMs = NOW + (chainMs ?? 0);
  return {
    databaseMs: NOW + databaseMs,
    own: { fromMs: NOW, toMs: NOW + answerMs },
    chain: chainMs === null ? null : { seenMs: timeMs, verifiedMs: timeMs },
  };
}

test('reports a clock that differs too much from the others, and only then', () => {
  const fine: readonly ClockReading[] = [
    reading(0),
    reading(MINUTE),
    reading(-MINUTE),
    reading(0, null),
    reading(0, 5 * MINUTE),
    reading(0, -45 * MINUTE),
    // A slow database may have read its clock at any time during the request.
    reading(3 * MINUTE, 0, 2 * MINUTE),
    // The verified block may be old while finality stalls. The newest one is not.
    { ...reading(0), chain: { seenMs: NOW, verifiedMs: NOW - 9 * HOUR } },
  ];
  expect(fine.map((one) => compareClocks('main', one))).toEqual(fine.map(() => undefined));
  expect(compareClocks('main', reading(MINUTE + SECOND))).toBe(
    "the database's clock is 61 s ahead of the signer's",
  );
  expect(compareClocks('main', reading(-25 * HOUR, null))).toContain('-90000 s ahead');
  expect(compareClocks('main', reading(Number.NaN))).toBeDefined();
  expect(compareClocks('main', reading(0, 5 * MINUTE + SECOND))).toBe(
    'the chain is 301 s ahead of the clocks',
  );
  expect(compareClocks('main', reading(0, -45 * MINUTE - SECOND))).toContain(
    'the newest block is 2701 s old',
  );
});

test('compares only the clock of the database on a test network', () => {
  expect(compareClocks('test', reading(0, -25 * HOUR))).toBeUndefined();
  expect(compareClocks('test', reading(25 * HOUR))).toBeDefined();
});
