import { expect, test } from 'vitest';
import { settleWithin } from './settle-within.ts';

const HOUR_MS = 3_600_000;

test('waits for the others after a failure', async () => {
  let settle: (() => void) | undefined;
  const slow = new Promise<void>((resolve) => (settle = resolve));
  let isOver = false;
  const waiting = settleWithin(HOUR_MS, [Promise.reject(new Error('not stopped')), slow]).then(
    () => (isOver = true),
  );
  await new Promise(setImmediate);
  expect(isOver).toBe(false);
  settle?.();
  await waiting;
});

test('ends at the deadline although one never settles', async () => {
  await settleWithin(1, [new Promise(() => undefined)]);
});
