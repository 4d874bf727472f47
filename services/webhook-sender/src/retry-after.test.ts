import { expect, it } from 'vitest';
import fc from 'fast-check';
import { RETRY_AFTER_MAX_MS, retryAfterMs } from './retry-after.ts';

const NOW = new Date('2026-03-01T12:00:00Z');
const DAY_MS = 24 * 3_600_000;

it.each([
  ['120', 120_000],
  [' 7 ', 7_000],
  ['0', 0],
  ['86400', DAY_MS],
  ['86401', DAY_MS],
  ['99999999999999999999999999', DAY_MS],
  ['Sun, 01 Mar 2026 12:05:00 GMT', 300_000],
  ['Sun, 01 Mar 2026 11:59:00 GMT', 0],
  ['Sun, 01 Mar 2099 12:05:00 GMT', DAY_MS],
  // Not valid in HTTP, however plausible.
  [undefined, 0],
  ['', 0],
  ['-5', 0],
  ['1.5', 0],
  ['1e3', 0],
  ['0x10', 0],
  ['soon', 0],
  ['2026-03-01T12:05:00Z', 0],
  ['Sunday, 01-Mar-26 12:05:00 GMT', 0],
  ['Sun, 99 Mar 2026 12:05:00 GMT', 0],
  ['120, 7', 0],
])('reads Retry-After %p as %d ms', (header, delayMs) => {
  expect(retryAfterMs(503, header, NOW)).toBe(delayMs);
  expect(retryAfterMs(429, header, NOW)).toBe(delayMs);
});

it('reads Retry-After only with 429 and 503', () => {
  for (const status of [200, 301, 400, 404, 500, 502, 504]) expect(retryAfterMs(status, '120', NOW)).toBe(0);
});

it('returns a Retry-After delay between zero and one day', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.integer().map(String),
        fc.date({ noInvalidDate: true }).map((d) => d.toUTCString()),
      ),
      (header) => {
        const delayMs = retryAfterMs(429, header, NOW);
        expect(delayMs >= 0 && delayMs <= RETRY_AFTER_MAX_MS).toBe(true);
      },
    ),
  );
});
