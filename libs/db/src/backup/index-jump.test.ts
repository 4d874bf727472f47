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

describe('the jump of deposit indexes', () => {
  test('a shop of a few orders jumps by the minimum for each begun day away; so do families never used', () => {
    expect(evm(1_200, 4, 60_000)).toBe(2_001_200);
    expect(evm(1_200, 4, 23 * HOUR)).toBe(2_001_200);
    expect(evm(1_200, 4, 24 * HOUR)).toBe(4_001_200);
    expect(planJumps(families(1_200, 4), 60_000, DEFAULT_JUMP).slice(1)).toEqual([
      { family: 'TRON', next: 2_000_000 },
      { family: 'SUI', next: 2_000_000 },
    ]);
  });

  test('a busy one jumps by ten times what its busiest hour gives for the time away, begun hours counted whole', () => {
    expect(evm(5_000_000, 72_000, 5.5 * HOUR)).toBe(5_000_000 + 10 * 72_000 * 7);
  });

  test('a clock that went back is no reason to jump less than an hour’s worth', () => {
    expect(evm(0, 500_000, -30 * HOUR)).toBe(5_000_000);
  });

  test('refuses where the addresses of a family end', () => {
    expect(() => evm(2 ** 31 - 2_000_000, 0, 0)).toThrow('no addresses left');
    expect(evm(2 ** 31 - 2_000_001, 0, 0)).toBe(2 ** 31 - 1);
  });
});
