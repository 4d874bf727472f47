import { expect } from 'vitest';
import { enumerateFaults, type Sum } from '../model/enumerate.ts';
import { runModel, type Fault, type FaultKind, type Variant } from './model-world.ts';

const KINDS: readonly FaultKind[] = [
  'crash',
  'lost-request',
  'lost-reply',
  'wrong-answer',
  'drop',
  'mine',
  'stall',
  'outage',
  'reorganise',
  'fork',
  'expire',
  'takeover',
  'remember',
];

export const enumerate = (
  variant: Variant = {},
  {
    kinds = KINDS,
    seconds = KINDS,
    stride = 1,
  }: {
    readonly kinds?: readonly FaultKind[];
    readonly seconds?: readonly FaultKind[];
    readonly stride?: number;
  } = {},
): Promise<Sum> =>
  enumerateFaults<FaultKind>(
    (faults) => runModel(faults, variant),
    kinds,
    () => seconds,
    stride,
  );

export async function landOnce(hardStride: number, stride: number, againMin: number): Promise<number> {
  const [hard, all] = [
    await enumerate({}, { seconds: ['crash', 'remember'], stride: hardStride }),
    await enumerate({}, { kinds: ['outage', 'crash'], stride }),
  ];
  for (const sum of [hard, all]) {
    expect(sum.first).toBeUndefined();
    expect(sum).toMatchObject({ doubles: 0, stuck: 0 });
    expect(sum.again).toBeGreaterThan(againMin);
  }
  return hard.scenarios + all.scenarios;
}

/** Attempts must expire only under the halt of the restore. */
export async function restoreAfterOutage(stride: number): Promise<void> {
  const { points } = await runModel([]);
  const outage: Fault = { at: points.indexOf('before broadcast') + 1, kind: 'outage' };
  const single = await runModel([outage]);
  let expiredUnderHalt = 0;
  for (let at = outage.at + 1; at <= single.points.length; at += stride) {
    const restored = await runModel([outage, { at, kind: 'restore' }]);
    const later = restored.points.slice(at);
    const halted = later.indexOf('after haltRestored');
    if (halted < 0) continue;
    expect({ at, provenDead: later.slice(0, halted).includes('before markDead') }).toEqual({
      at,
      provenDead: false,
    });
    if (later.slice(halted).includes('after markDead')) expiredUnderHalt += 1;
    expect(restored).toMatchObject({ doubles: 0, stuck: 0 });
  }
  expect(expiredUnderHalt).toBeGreaterThan(0);
}
