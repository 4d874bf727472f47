import { expect, test } from 'vitest';
import { stopWithin } from './stop-within.ts';

test('stops all parts in parallel and abandons late ones', async () => {
  const warned: unknown[] = [];
  const logger = { warn: (...args: unknown[]) => warned.push(args) } as unknown as Parameters<
    typeof stopWithin
  >[2];
  const stopped: string[] = [];
  const part = (name: string) => () => Promise.resolve(stopped.push(name));
  await stopWithin(60_000, { a: part('a'), b: part('b') }, logger);
  expect(warned).toEqual([]);
  await stopWithin(20, { stuck: () => new Promise(() => undefined), c: part('c') }, logger);
  expect(stopped).toEqual(['a', 'b', 'c']);
  expect(warned).toEqual([['parts not stopped in time', { parts: ['stuck'], limitMs: 20 }]]);
});

test('rejects when a part fails to stop', async () => {
  const logger = { warn: () => undefined } as unknown as Parameters<typeof stopWithin>[2];
  await expect(stopWithin(60_000, { a: () => Promise.reject(new Error('broken')) }, logger)).rejects.toThrow(
    'broken',
  );
});
