import { expect, test } from '@jest/globals';
import { createPlaces, type Places } from './take-places.ts';

/** Lets what is due happen. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Takes a place, and writes its name down when it has it. */
function enter(places: Places, name: string, entered: string[], signal?: AbortSignal): Promise<() => void> {
  const place = places.take(signal);
  place.then(
    () => entered.push(name),
    () => undefined,
  );
  return place;
}

test('so many are let in at once, and the others in their order as places are left', async () => {
  const [places, entered]: [Places, string[]] = [createPlaces(2), []];
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

test('who is aborted while waiting gives up, and holds up nobody; the place goes to the next', async () => {
  const [places, entered]: [Places, string[]] = [createPlaces(1), []];
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
