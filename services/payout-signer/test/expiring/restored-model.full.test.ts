import { describe, expect, test } from 'vitest';
import { runModel, type Fault, type Variant } from './model-world.ts';

// The same machine keeps the mark of sent transactions. Another machine has only the backup and the chain, as after
// `opentill restore`.

interface Sum {
  scenarios: number;
  doubles: number;
  stuck: number;
}
const emptySum = (): Sum => ({ scenarios: 0, doubles: 0, stuck: 0 });

async function add(sum: Sum, faults: readonly Fault[], variant: Variant): Promise<readonly string[]> {
  const { doubles, stuck, points } = await runModel(faults, variant);
  sum.scenarios += 1;
  if (doubles > 0) sum.doubles += 1;
  if (stuck > 0) sum.stuck += 1;
  return points;
}

async function initialFaults(): Promise<readonly (readonly Fault[])[]> {
  const { points } = await runModel([]);
  return [[], [{ at: points.indexOf('before broadcast') + 1, kind: 'outage' }]];
}

async function restoreEverywhere(variant: Variant): Promise<Sum> {
  const sum = emptySum();
  for (const first of await initialFaults()) {
    const { points } = await runModel(first, variant);
    for (const [place, name] of points.entries())
      if (name.startsWith('after') && place >= (first[0]?.at ?? 0))
        await add(sum, [...first, { at: place + 1, kind: 'restore' }], variant);
  }
  expect(sum.scenarios).toBeGreaterThan(50);
  return sum;
}

async function restoreElsewhere(variant: Variant, stride: number): Promise<Sum> {
  const sum = emptySum();
  let turn = 0;
  for (const first of await initialFaults()) {
    const { points } = await runModel(first, variant);
    for (const [place, name] of points.entries()) {
      if (!name.startsWith('after') || place < (first[0]?.at ?? 0)) continue;
      const faults: Fault[] = [...first, { at: place + 1, kind: 'restore-elsewhere' }];
      const later = await add(sum, faults, variant);
      for (const [second, other] of later.entries()) {
        if (second <= place || !other.startsWith('after')) continue;
        turn += 1;
        if (turn % stride === 0) await add(sum, [...faults, { at: second + 1, kind: 'remember' }], variant);
      }
    }
  }
  expect(sum.scenarios).toBeGreaterThan(100);
  return sum;
}

describe('restore on the same machine', () => {
  test('pays everything once, even if the operator releases halts without a check', async () => {
    expect(await restoreEverywhere({ isLazy: true })).toMatchObject({ doubles: 0, stuck: 0 });
  });

  test('finds a double payment without the guard for forgotten equal payments', async () => {
    const unguarded: Variant = { isLazy: true, onStart: (tables) => void (tables.isGuarded = false) };
    expect((await restoreEverywhere(unguarded)).doubles).toBeGreaterThan(0);
  });
});

describe('restore on another machine, without the mark', () => {
  test('pays everything once when the halt lasts until forgotten transactions expire', async () => {
    expect(await restoreElsewhere({}, 2)).toMatchObject({ doubles: 0, stuck: 0 });
  });

  test('finds a double payment when the halt ends with no unknown transaction in sight', async () => {
    expect((await restoreElsewhere({ holdsForMs: 0 }, 2)).doubles).toBeGreaterThan(0);
  });

  test('finds a double payment when the halt ends before all transactions expire', async () => {
    expect((await restoreElsewhere({ holdsForMs: 6_000 }, 2)).doubles).toBeGreaterThan(0);
  });
});
