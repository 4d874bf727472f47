import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { createCallSize } from './call-size.ts';

function sized(max: number): { size: ReturnType<typeof createCallSize>; pass: (ms: number) => void } {
  let now = 0;
  return { size: createCallSize({ max, nowMs: () => now }), pass: (ms) => (now += ms) };
}
const HOUR_MS = 60 * 60 * 1_000;

describe('createCallSize', () => {
  it('halves the call size after a rejection, down to one', () => {
    const { size } = sized(10);
    const seen = [size.blocks()];
    for (let count = 0; count < 5; count += 1) {
      size.refused();
      seen.push(size.blocks());
    }
    expect(seen).toEqual([10, 5, 2, 1, 1, 1]);
  });

  it('adopts a suggested size that is smaller than the rejected one', () => {
    const { size } = sized(10_000);
    size.refused(2_000);
    expect(size.blocks()).toBe(2_000);
    size.refused(5_000);
    expect(size.blocks()).toBe(1_000);
    size.refused(0);
    expect(size.blocks()).toBe(500);
  });

  it('counts rejections of concurrent calls once', () => {
    const { size } = sized(1_000);
    for (let count = 0; count < 4; count += 1) size.refused(undefined, 1_000);
    expect(size.blocks()).toBe(500);
  });

  it('halves the size of the rejected call when that is smaller', () => {
    const { size } = sized(1_000);
    size.refused(undefined, 20);
    expect(size.blocks()).toBe(10);
  });

  it('raises the call size slowly after full calls, not beyond its maximum', () => {
    const { size } = sized(100);
    size.refused();
    for (let count = 0; count < 1_000; count += 1) size.accepted(10);
    expect(size.blocks()).toBe(50);
    for (let count = 0; count < 19; count += 1) size.accepted();
    expect(size.blocks()).toBe(50);
    size.accepted();
    expect(size.blocks()).toBe(55);
    for (let count = 0; count < 1_000; count += 1) size.accepted();
    expect(size.blocks()).toBe(100);
  });

  it('does not retry within an hour a size that was rejected twice', () => {
    const { size, pass } = sized(100);
    const cap = 40;
    let refusals = 0;
    const call = (): void => {
      if (size.blocks() > cap) {
        refusals += 1;
        size.refused();
      } else size.accepted();
    };
    for (let count = 0; count < 5_000; count += 1) call();
    const learned = refusals;
    const settled = size.blocks();
    expect(settled).toBeGreaterThan(cap / 2);
    for (let count = 0; count < 5_000; count += 1) call();
    expect(refusals).toBe(learned);
    expect(size.blocks()).toBe(settled);
    pass(HOUR_MS);
    for (let count = 0; count < 200; count += 1) call();
    expect(refusals).toBeGreaterThan(learned);
  });

  it('keeps the call size between one and its maximum', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('refused'), suggested: fc.option(fc.integer(), { nil: undefined }) }),
      fc.record({ kind: fc.constant('accepted'), suggested: fc.constant(undefined) }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), fc.array(step, { maxLength: 200 }), (max, steps) => {
        const { size, pass } = sized(max);
        for (const { kind, suggested } of steps) {
          if (kind === 'refused') size.refused(suggested);
          else size.accepted();
          pass(1_000);
          expect(size.blocks()).toBeGreaterThanOrEqual(1);
          expect(size.blocks()).toBeLessThanOrEqual(max);
          expect(Number.isInteger(size.blocks())).toBe(true);
        }
      }),
    );
  });
});
