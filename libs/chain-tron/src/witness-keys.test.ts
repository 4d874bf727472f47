import { expect, test } from 'vitest';
import { createMemoryStore, createWitnessKeys, type NewWitnessKey } from './witness-keys.ts';

const DAY_MS = 86_400_000;
const [WITNESS, KEY, OTHER] = ['1', '2', '3'].map((digit) => `41${digit.repeat(40)}`) as [
  string,
  string,
  string,
];

function open(store = createMemoryStore()) {
  const clock = { nowMs: 0 };
  const alarms: NewWitnessKey[] = [];
  const keys = createWitnessKeys({
    store,
    epochMs: () => clock.nowMs,
    onNewKey: (key) => void alarms.push(key),
  });
  const show = async (signers: readonly string[], afterMs = 0) => {
    clock.nowMs += afterMs;
    await keys.note(
      signers.map((signer) => new Map([[WITNESS, signer]])),
      2,
    );
    return [WITNESS, KEY, OTHER].filter((key) => keys.isKeyOf(WITNESS, key));
  };
  const sign = (signer: string, afterMs = 0) => show([signer, signer], afterMs);
  return { store, alarms, keys, clock, show, sign };
}

test('counts a delegated key after a day and raises an alarm when the day begins', async () => {
  const { sign, alarms } = open();
  expect(await sign(WITNESS)).toEqual([WITNESS]);
  expect(await sign(KEY)).toEqual([WITNESS]);
  expect(await sign(KEY, DAY_MS - 1)).toEqual([WITNESS]);
  expect(alarms).toMatchObject([{ before: undefined, countsFrom: new Date(DAY_MS) }]);
  expect(await sign(KEY, 1)).toEqual([WITNESS, KEY]);
  expect(await sign(OTHER)).toEqual([WITNESS, KEY]);
  expect(await sign(OTHER, DAY_MS)).toEqual([WITNESS, OTHER]);
  expect(alarms).toHaveLength(2);
});

test('does not count a key that sources showed only once', async () => {
  const { sign, clock, keys } = open();
  await sign(KEY);
  clock.nowMs = 10 * DAY_MS;
  expect(keys.isKeyOf(WITNESS, KEY)).toBe(false);
  expect(keys.pending()).toMatchObject([{ before: undefined, countsFrom: new Date(DAY_MS) }]);
  expect(await sign(KEY)).toEqual([WITNESS, KEY]);
  expect(keys.pending()).toEqual([]);
});

test('restarts the day when only one source shows another signer', async () => {
  for (const contradiction of [[KEY, WITNESS], [OTHER, KEY], [WITNESS]]) {
    const { show, sign } = open();
    await sign(KEY);
    await show(contradiction, DAY_MS / 2);
    expect(await sign(KEY, DAY_MS / 2)).toEqual([WITNESS]);
    expect(await show([KEY], DAY_MS)).toEqual([WITNESS]);
    expect(await sign(KEY)).toEqual([WITNESS, KEY]);
  }
});

test('drops a key once the witness has signed with its own for a day again', async () => {
  const { sign, alarms, keys } = open();
  await sign(KEY);
  await sign(KEY, DAY_MS);
  expect(await sign(WITNESS)).toEqual([WITNESS, KEY]);
  expect(await sign(KEY, DAY_MS)).toEqual([WITNESS, KEY]);
  expect(await sign(WITNESS)).toEqual([WITNESS, KEY]);
  expect(keys.pending()).toEqual([]);
  expect(await sign(WITNESS, DAY_MS)).toEqual([WITNESS]);
  expect(alarms).toHaveLength(1);
});

test('restarts the day when the witness signs with a known key in between', async () => {
  const { sign, alarms } = open();
  await sign(KEY);
  await sign(WITNESS, DAY_MS / 2);
  expect(await sign(KEY, DAY_MS / 2)).toEqual([WITNESS]);
  expect(alarms).toHaveLength(2);
});

test('keeps learned keys over a restart and discards an unreadable store', async () => {
  const before = open();
  await before.sign(KEY);
  const after = open(before.store);
  expect(await after.sign(KEY, DAY_MS)).toEqual([WITNESS, KEY]);
  expect(after.alarms).toEqual([]);
  for (const text of ['', '{', '[]', '{"a":1}', `{"${WITNESS}":{"key":1,"next":{"key":"${KEY}"}}}`]) {
    const store = createMemoryStore();
    await store.write(text);
    expect(await open(store).sign(KEY, DAY_MS)).toEqual([WITNESS]);
  }
});
