import { expect, test } from 'vitest';
import { uniqueNear } from './read-payment.ts';
import { windowFrom } from './read-epoch.ts';
import { nonceOf } from './sign-payment.ts';

const HOUR_MS = 3_600_000;

test('validity covers one epoch, and the next one if little time or no end is known', () => {
  const now = 1_800_000_000_000;
  expect(windowFrom(7, now + 3 * HOUR_MS, now)).toEqual({
    epochs: { first: 7, last: 7 },
    expiresMs: now + 3 * HOUR_MS,
  });
  for (const [ends, expected] of [
    [now + HOUR_MS, now + 25 * HOUR_MS],
    [now - HOUR_MS, now + 24 * HOUR_MS],
    [undefined, now + 24 * HOUR_MS],
  ] as const)
    expect(windowFrom(7, ends, now)).toEqual({ epochs: { first: 7, last: 8 }, expiresMs: expected });
});

test('uniqueNear recovers the unique time from nonce and checkpoint time', () => {
  for (const turn of [418 * 2 ** 32, 419 * 2 ** 32])
    for (const unique of [turn - 5, turn, turn + 5, turn + 2 ** 31])
      for (const later of [-60_000, 0, 48 * HOUR_MS])
        expect(uniqueNear(unique + later, nonceOf(unique))).toBe(unique);
});
