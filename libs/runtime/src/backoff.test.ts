import { expect, test } from 'vitest';
import fc from 'fast-check';
import { backoffMs } from './backoff.ts';

test('doubles with each failure and randomises the upper half', () => {
  const at = (failures: number, random: number) =>
    backoffMs(failures, { firstMs: 100, maxMs: 1_000, random: () => random });
  expect([1, 2, 3, 4, 5, 99].map((n) => at(n, 0))).toEqual([50, 100, 200, 400, 500, 500]);
  expect(at(1, 0.999)).toBe(100);
});

test('stays between zero and the cap', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1e9 }),
      fc.nat(60_000),
      fc.nat(60_000),
      (failures, firstMs, maxMs) => {
        const ms = backoffMs(failures, { firstMs, maxMs });
        expect(ms).toBeGreaterThanOrEqual(0);
        expect(ms).toBeLessThanOrEqual(maxMs);
      },
    ),
  );
});
