import { expect, test } from 'vitest';
import { createSemaphore, type Semaphore } from './semaphore.ts';

const settled = () => new Promise((resolve) => setImmediate(resolve));

function enter(
  places: Semaphore,
  name: string,
  entered: string[],
  signal?: AbortSignal,
  wanted?: number,
): Promise<() => void> {
  const place = places.take(signal, wanted);
  place.then(
    () => entered.push(name),
    () => undefined,
  );
  return place;
}

test('admits a limited number at once and the others in order of arrival', async () => {
  const [places, entered]: [Semaphore, string[]] = [createSemaphore(2), []];
  const all = ['a', 'b', 'c', 'd', 'e'].map((name) => enter(places, name, entered));
  await settled();
  expect(entered).toEqual(['a', 'b']);
  const leaveB = await all[1]!;
  leaveB();
  leaveB(); // only once
  await settled();
  expect(entered).toEqual(['a', 'b', 'c']);
  (await all[0]!)();
  (await all[2]!)();
  await settled();
  expect(entered).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test('passes the turn of an aborted waiter to the next one', async () => {
  const [places, entered]: [Semaphore, string[]] = [createSemaphore(1), []];
  const leaving = await enter(places, 'a', entered);
  const abort = new AbortController();
  const gone = enter(places, 'b', entered, abort.signal);
  const next = enter(places, 'c', entered);
  abort.abort();
  await expect(gone).rejects.toMatchObject({ code: 'READ_ABORTED' });
  leaving();
  (await next)();
  expect(entered).toEqual(['a', 'c']);
  await expect(enter(places, 'd', entered, abort.signal)).rejects.toMatchObject({ code: 'READ_ABORTED' });
  (await places.take(undefined))();
});

test('admits a caller of several places before later callers', async () => {
  const [places, entered]: [Semaphore, string[]] = [createSemaphore(3), []];
  const one = await enter(places, 'one', entered);
  const two = await enter(places, 'two', entered, undefined, 2);
  const abort = new AbortController();
  const heavy = enter(places, 'heavy', entered, abort.signal, 2);
  const light = enter(places, 'light', entered);
  one();
  await settled();
  expect(entered).toEqual(['one', 'two']);
  // It no longer waits, so the next one is admitted.
  abort.abort();
  await expect(heavy).rejects.toMatchObject({ code: 'READ_ABORTED' });
  await settled();
  expect(entered).toEqual(['one', 'two', 'light']);
  const whole = enter(places, 'whole', entered, undefined, 99);
  two();
  await settled();
  expect(entered).not.toContain('whole');
  (await light)();
  (await whole)();
  await enter(places, 'last', entered, undefined, 3);
  expect(entered.slice(3)).toEqual(['whole', 'last']);
});
