import { expect, test } from 'vitest';
import { runModel, type Variant } from './model-world.ts';

/** After a restore payouts are taken in another order, so that they get other nonces than the life that is lost gave them. */
const otherOrder: Variant = {
  store: (store, tables) => ({
    ...store,
    async look(options) {
      const view = await store.look(options);
      if (tables.token <= 1) return view;
      return { ...view, requested: view.requested.toReversed(), unsigned: view.unsigned.toReversed() };
    },
  }),
};
const noMark: Variant['mark'] = () => ({
  read: () => Promise.resolve(undefined),
  raise: () => Promise.resolve(),
});

/** The process dies at each point, and the database is brought back to what it was; the chain and the pools are not. */
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

test('a database that lost commits pays nothing twice, and everything in the end', async () => {
  expect(await restoreEverywhere({})).toMatchObject({ doubles: 0, stuck: 0 });
  expect(await restoreEverywhere(otherOrder)).toMatchObject({ doubles: 0, stuck: 0 });
});

test('nor where the mark of what was sent is lost with it', async () => {
  expect(await restoreEverywhere({ ...otherOrder, mark: noMark })).toMatchObject({ doubles: 0, stuck: 0 });
});

test('control: an operator who has everything paid again without a look at the chain pays twice', async () => {
  const sum = await restoreEverywhere({ ...otherOrder, mark: noMark, isCareless: true });
  expect(sum.doubles).toBeGreaterThan(0);
});

/**
 * A database that lost commits, while no chain and no pool that anybody asks knows of what was sent; later, at each point, the
 * first of it gets into a block after all. What is left of it is the mark of this machine alone.
 */
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

test('what no chain and no pool shows any more is paid once all the same: the mark of this machine knows of it', async () => {
  expect(await resurfaceEverywhere({}, 5)).toMatchObject({ doubles: 0, stuck: 0 });
  expect(await resurfaceEverywhere(otherOrder)).toMatchObject({ doubles: 0, stuck: 0 });
});

test('control: and nothing else does: without the mark it is paid twice', async () => {
  expect((await resurfaceEverywhere({ ...otherOrder, mark: noMark }, 4)).doubles).toBeGreaterThan(0);
});
