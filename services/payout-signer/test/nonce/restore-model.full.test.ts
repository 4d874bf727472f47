import { expect, test } from 'vitest';
import { runModel, type Variant } from './model-world.ts';

/** After the restore payouts get other nonces than before. */
const otherOrder: Variant = {
  store: (store, tables) => ({
    ...store,
    async readView(options) {
      const view = await store.readView(options);
      if (tables.token <= 1) return view;
      return { ...view, requested: view.requested.toReversed(), unsigned: view.unsigned.toReversed() };
    },
  }),
};
const noMark: Variant['mark'] = () => ({
  read: () => Promise.resolve(undefined),
  raise: () => Promise.resolve(),
});

async function restoreEverywhere(
  variant: Variant,
): Promise<{ scenarios: number; doubles: number; stuck: number }> {
  const { points } = await runModel([]);
  const sum = { scenarios: 0, doubles: 0, stuck: 0 };
  for (const [place, name] of points.entries()) {
    if (!name.startsWith('after')) continue;
    const outcome = await runModel([{ at: place + 1, kind: 'restore' }], variant);
    sum.scenarios += 1;
    if (outcome.doubles > 0) sum.doubles += 1;
    if (outcome.stuck > 0) sum.stuck += 1;
  }
  expect(sum.scenarios).toBeGreaterThan(20);
  return sum;
}

test('pays everything exactly once after a database lost commits', async () => {
  expect(await restoreEverywhere({})).toMatchObject({ doubles: 0, stuck: 0 });
  expect(await restoreEverywhere(otherOrder)).toMatchObject({ doubles: 0, stuck: 0 });
});

test('pays everything exactly once after the mark was lost with the database', async () => {
  expect(await restoreEverywhere({ ...otherOrder, mark: noMark })).toMatchObject({ doubles: 0, stuck: 0 });
});

test('finds a double payment when the operator decides PAY_AGAIN without checking', async () => {
  const sum = await restoreEverywhere({ ...otherOrder, mark: noMark, isCareless: true });
  expect(sum.doubles).toBeGreaterThan(0);
});

/** Chain and pools forget the sends, of which one later lands. Only the mark knows of it. */
async function resurfaceEverywhere(
  variant: Variant,
  stride = 1,
): Promise<{ scenarios: number; doubles: number; stuck: number }> {
  const sum = { scenarios: 0, doubles: 0, stuck: 0 };
  const { points } = await runModel([]);
  let turn = 0;
  for (const [place, name] of points.entries()) {
    if (!name.startsWith('after')) continue;
    const forgotten = { at: place + 1, kind: 'restore-forgotten' } as const;
    const { points: later } = await runModel([forgotten], variant);
    for (const [second, other] of later.entries()) {
      if (second <= place || !other.startsWith('after')) continue;
      turn += 1;
      if (turn % stride !== 0) continue;
      const outcome = await runModel([forgotten, { at: second + 1, kind: 'resurface' }], variant);
      sum.scenarios += 1;
      if (outcome.doubles > 0) sum.doubles += 1;
      if (outcome.stuck > 0) sum.stuck += 1;
    }
  }
  expect(sum.scenarios).toBeGreaterThan(100);
  return sum;
}

test('pays once what chain and pools no longer show, by the mark of this machine', async () => {
  expect(await resurfaceEverywhere({}, 5)).toMatchObject({ doubles: 0, stuck: 0 });
  expect(await resurfaceEverywhere(otherOrder)).toMatchObject({ doubles: 0, stuck: 0 });
});

test('finds a double payment without the mark', async () => {
  expect((await resurfaceEverywhere({ ...otherOrder, mark: noMark }, 4)).doubles).toBeGreaterThan(0);
});
