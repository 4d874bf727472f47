import { describe, expect, test } from 'vitest';
import { runModel, type Fault, type Variant } from './model-world.ts';

/*
 * A database that was brought back to what it was some points before, at every point: on the same machine, which has its mark of
 * what was sent, and on another one, by `opentill restore`, which has nothing but the backup and the chain.
 */

interface Sum {
  scenarios: number;
  doubles: number;
  stuck: number;
}
const nothing = (): Sum => ({ scenarios: 0, doubles: 0, stuck: 0 });

async function add(sum: Sum, faults: readonly Fault[], variant: Variant): Promise<readonly string[]> {
  const { doubles, stuck, points } = await runModel(faults, variant);
  sum.scenarios += 1;
  if (doubles > 0) sum.doubles += 1;
  if (stuck > 0) sum.stuck += 1;
  return points;
}

/** With everything sent landing at once, and with nothing landing until it is over. */
async function beginnings(): Promise<readonly (readonly Fault[])[]> {
  const { points } = await runModel([]);
  return [[], [{ at: points.indexOf('before broadcast') + 1, kind: 'outage' }]];
}

async function restoreEverywhere(variant: Variant): Promise<Sum> {
  const sum = nothing();
  for (const first of await beginnings()) {
    const { points } = await runModel(first, variant);
    for (const [place, name] of points.entries())
      if (name.startsWith('after') && place >= (first[0]?.at ?? 0))
        await add(sum, [...first, { at: place + 1, kind: 'restore' }], variant);
  }
  expect(sum.scenarios).toBeGreaterThan(50);
  return sum;
}

/** And later, at each point, nodes bring back all that anybody ever heard of. */
async function restoreElsewhere(variant: Variant, stride: number): Promise<Sum> {
  const sum = nothing();
  let turn = 0;
  for (const first of await beginnings()) {
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

describe('on the machine that has sent', () => {
  test('everything is paid once, also by an operator who releases halts without a look at the chain', async () => {
    expect(await restoreEverywhere({ isLazy: true })).toMatchObject({ doubles: 0, stuck: 0 });
  });

  test('control: without the guard of payouts that a forgotten payment pays alike he has them paid twice', async () => {
    const unguarded: Variant = { isLazy: true, onStart: (tables) => void (tables.isGuarded = false) };
    expect((await restoreEverywhere(unguarded)).doubles).toBeGreaterThan(0);
  });
});

describe('on another machine, without any mark', () => {
  test('everything is paid once: the hold waits until nothing forgotten can land any more', async () => {
    expect(await restoreElsewhere({}, 2)).toMatchObject({ doubles: 0, stuck: 0 });
  });

  test('control: released when the chain shows nothing that is unknown, it is paid twice', async () => {
    expect((await restoreElsewhere({ holdsForMs: 0 }, 2)).doubles).toBeGreaterThan(0);
  });

  test('control: released before all of it is over, it is paid twice as well', async () => {
    expect((await restoreElsewhere({ holdsForMs: 6_000 }, 2)).doubles).toBeGreaterThan(0);
  });
});
