import { expect, test } from 'vitest';
import { abortableDelay } from './abortable-delay.ts';
import { withDeadline } from './deadline.ts';
import { newId } from './ids.ts';

test('passes on a result or an error that comes in time', async () => {
  await expect(
    withDeadline(
      1_000,
      () => Promise.resolve(7),
      () => new Error('late'),
    ),
  ).resolves.toBe(7);
  await expect(
    withDeadline(
      1_000,
      () => Promise.reject(new Error('own')),
      () => new Error('late'),
    ),
  ).rejects.toThrow('own');
});

test('rejects on timeout, aborts the signal and ignores a late error', async () => {
  let aborted: AbortSignal | undefined;
  const work = async (signal: AbortSignal) => {
    aborted = signal;
    await abortableDelay(60_000, signal);
    throw new Error('too late');
  };
  await expect(withDeadline(5, work, () => new Error('late'))).rejects.toThrow('late');
  expect(aborted?.aborted).toBe(true);
  await new Promise(setImmediate);
});

test('returns whether the delay passed or was aborted', async () => {
  const controller = new AbortController();
  expect(await abortableDelay(1, controller.signal)).toBe(true);
  const cut = abortableDelay(60_000, controller.signal);
  controller.abort();
  expect(await cut).toBe(false);
  expect(await abortableDelay(60_000, controller.signal)).toBe(false);
});

test('creates UUIDs of version 7 in ascending order', () => {
  const ids = Array.from({ length: 1_000 }, () => newId());
  expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect([...ids].sort()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
});
