import { expect, test } from '@jest/globals';
import { agreedSigners, createMemoryStore, createWitnessKeys, type NewWitnessKey } from './witness-keys.ts';

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
  const sign = async (signer: string, afterMs = 0) => {
    clock.nowMs += afterMs;
    await keys.note(new Map([[WITNESS, signer]]));
    return [WITNESS, KEY, OTHER].filter((key) => keys.isKeyOf(WITNESS, key));
  };
  return { store, alarms, keys, sign };
}

test('counts another key of a witness after a day, with an alarm when it begins', async () => {
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

test('starts the day anew when the witness signs with a known key in between', async () => {
  const { sign, alarms } = open();
  await sign(KEY);
  await sign(WITNESS, DAY_MS / 2);
  expect(await sign(KEY, DAY_MS / 2)).toEqual([WITNESS]);
  expect(alarms).toHaveLength(2);
});

test('keeps what it learned over a restart, and learns anew what it cannot read', async () => {
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

test('learns only what all sources say alike', () => {
  const told = [
    new Map([
      [WITNESS, KEY],
      [KEY, KEY],
    ]),
    new Map([
      [WITNESS, KEY],
      [KEY, OTHER],
    ]),
  ];
  expect([...agreedSigners(told)]).toEqual([[WITNESS, KEY]]);
});
