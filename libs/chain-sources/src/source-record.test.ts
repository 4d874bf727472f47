import { expect, test } from 'vitest';
import { readerError } from '@opentill/chain/reader-error';
import { createSourceRecord, type SourceRecord } from './source-record.ts';

const down = readerError('RPC_UNAVAILABLE', 'connection refused');

function watched(): { readonly record: SourceRecord; pass(ms: number): void; backoffMs(): number } {
  let nowMs = 1_000;
  const record = createSourceRecord({ nowMs: () => nowMs, random: () => 1 });
  return {
    record,
    pass: (ms) => void (nowMs += ms),
    backoffMs: () => Math.max(0, record.backoffUntilMs() - nowMs),
  };
}

test('counts requests that fail together as one failure', () => {
  const { record, backoffMs } = watched();
  record.noteFailure(down);
  const ofOne = backoffMs();
  for (let request = 0; request < 20; request += 1) record.noteFailure(down);
  expect(backoffMs()).toBe(ofOne);
});

test('doubles the backoff with each failure after a backoff', () => {
  const { record, pass, backoffMs } = watched();
  const backoffs = [1, 2, 3, 4].map(() => {
    record.noteFailure(down);
    const ms = backoffMs();
    pass(ms);
    return ms;
  });
  expect(backoffs.map((ms) => ms / backoffs[0]!)).toEqual([1, 2, 4, 8]);
});

test('does not shorten a delay that the provider requested after another failure', () => {
  const { record, backoffMs } = watched();
  record.noteFailure(readerError('RPC_RATE_LIMITED', 'slow down', { retryAfterMs: 20_000 }));
  record.noteFailure(down);
  expect(backoffMs()).toBe(20_000);
});

test('sums up failed time after a moment, including the current failure', () => {
  const { record, pass } = watched();
  const fail = (ms: number): void => {
    record.noteFailure(down);
    pass(ms);
    record.noteAnswer();
  };
  fail(300); // 1000 to 1300
  pass(1_000);
  fail(50); // 2300 to 2350
  pass(100);
  record.noteFailure(down); // 2450 to now
  pass(10);
  expect(record.failedMsSince(0)).toBe(360);
  expect(record.failedMsSince(1_200)).toBe(160);
  expect(record.failedMsSince(2_310)).toBe(50);
  expect(record.failedMsSince(2_455)).toBe(5);
});

test('keeps few failure periods and never understates the failed time', () => {
  const { record, pass } = watched();
  for (let time = 0; time < 1_000; time += 1) {
    record.noteFailure(down);
    pass(1);
    record.noteAnswer();
    pass(1);
  }
  expect(record.failedMsSince(0)).toBeGreaterThanOrEqual(1_000);
  expect(record.failedMsSince(3_000 - 20)).toBe(10);
});
