import { describe, expect, test } from 'vitest';
import { DEFAULT_JUMP, planJumps } from './index-jump.ts';

const HOUR = 3_600_000;
const families = (nextIndex: number, peakPerHour: number) => ({
  EVM: { nextIndex, peakPerHour },
  TRON: { nextIndex: 0, peakPerHour: 0 },
  SUI: { nextIndex: 0, peakPerHour: 0 },
});
const evm = (nextIndex: number, peakPerHour: number, awayMs: number, rules = DEFAULT_JUMP) =>
  planJumps(families(nextIndex, peakPerHour), awayMs, rules)[0]?.next;

describe('deposit index jump', () => {
  test('the jump of a quiet or unused family is the minimum per begun day offline', () => {
    expect(evm(1_200, 4, 60_000)).toBe(2_001_200);
    expect(evm(1_200, 4, 23 * HOUR)).toBe(2_001_200);
    expect(evm(1_200, 4, 24 * HOUR)).toBe(4_001_200);
    expect(planJumps(families(1_200, 4), 60_000, DEFAULT_JUMP).slice(1)).toEqual([
      { family: 'TRON', next: 2_000_000 },
      { family: 'SUI', next: 2_000_000 },
    ]);
  });

  test('the jump of a busy family is ten times its busiest hour per begun hour offline', () => {
    expect(evm(5_000_000, 72_000, 5.5 * HOUR)).toBe(5_000_000 + 10 * 72_000 * 7);
  });

  test('the jump covers at least one hour when the clock went back', () => {
    expect(evm(0, 500_000, -30 * HOUR)).toBe(5_000_000);
  });

  test('planning a jump fails when a family runs out of derivation indexes', () => {
    expect(() => evm(2 ** 31 - 2_000_000, 0, 0)).toThrow('no addresses left');
    expect(evm(2 ** 31 - 2_000_001, 0, 0)).toBe(2 ** 31 - 1);
  });
});
