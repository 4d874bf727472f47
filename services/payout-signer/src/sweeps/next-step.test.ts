import { describe, expect, test } from '@jest/globals';
import type { MovementKind, SweepMethod } from '@opentill/db/sweep-tables';
import { nextStep, type SweepMove } from './next-step.ts';

const NOW = new Date('2026-11-21T12:00:00Z');
const ago = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000);

const moved = (kind: MovementKind): SweepMove => ({
  kind,
  money: 'PAID_OUT',
  amountBaseUnits: 1n,
  hasEndedUnpaid: false,
  endedAt: ago(1),
});
const moving = (kind: MovementKind): SweepMove => ({
  kind,
  money: 'IN_FLIGHT',
  amountBaseUnits: 1n,
  hasEndedUnpaid: false,
  endedAt: null,
});
const promised = (kind: MovementKind): SweepMove => ({ ...moving(kind), money: 'RESERVED' });
const failed = (kind: MovementKind, minutes = 60): SweepMove => ({
  kind,
  money: 'RETURNED',
  amountBaseUnits: 1n,
  hasEndedUnpaid: true,
  endedAt: ago(minutes),
});
const begin = (movement: MovementKind) => ({ kind: 'BEGIN', movement });
const WAIT = { kind: 'WAIT' };
const DONE = { kind: 'END', state: 'DONE', reason: null };

describe('the next step of a sweep', () => {
  test.each<[SweepMethod, readonly SweepMove[], unknown]>([
    ['FREE', [], begin('SWEEP')],
    ['FREE', [promised('SWEEP')], WAIT],
    ['FREE', [moving('SWEEP')], WAIT],
    ['FREE', [moved('SWEEP')], DONE],
    ['RENT', [], begin('SWEEP')],
    ['TOP_UP', [], begin('GAS_TOP_UP')],
    ['TOP_UP', [promised('GAS_TOP_UP')], WAIT],
    ['TOP_UP', [moving('GAS_TOP_UP')], WAIT],
    ['TOP_UP', [moved('GAS_TOP_UP')], begin('SWEEP')],
    ['TOP_UP', [moved('GAS_TOP_UP'), moving('SWEEP')], WAIT],
    ['TOP_UP', [moved('GAS_TOP_UP'), moved('SWEEP')], DONE],
    ['TOP_UP', [failed('GAS_TOP_UP')], begin('GAS_TOP_UP')],
    ['TOP_UP', [failed('GAS_TOP_UP'), moved('GAS_TOP_UP')], begin('SWEEP')],
    ['STAKE', [], begin('DELEGATE')],
    ['STAKE', [moved('DELEGATE')], begin('SWEEP')],
    ['STAKE', [moved('DELEGATE'), moving('SWEEP')], WAIT],
    ['STAKE', [moved('DELEGATE'), moved('SWEEP')], begin('UNDELEGATE')],
    ['STAKE', [moved('DELEGATE'), moved('SWEEP'), moving('UNDELEGATE')], WAIT],
    ['STAKE', [moved('DELEGATE'), moved('SWEEP'), moved('UNDELEGATE')], DONE],
  ])('%s after %j', (method, moves, expected) => {
    expect(nextStep(method, moves, NOW)).toEqual(expected);
  });

  test('what failed is tried again later each time, and given up in the end', () => {
    const top = moved('GAS_TOP_UP');
    expect(nextStep('TOP_UP', [top, failed('SWEEP', 0.5)], NOW)).toEqual(WAIT);
    expect(nextStep('TOP_UP', [top, failed('SWEEP', 1)], NOW)).toEqual(begin('SWEEP'));
    const twice = [top, failed('SWEEP'), failed('SWEEP', 1)];
    expect(nextStep('TOP_UP', twice, NOW)).toEqual(WAIT);
    const thrice = [top, failed('SWEEP'), failed('SWEEP'), failed('SWEEP')];
    expect(nextStep('TOP_UP', thrice, NOW)).toEqual({
      kind: 'END',
      state: 'FAILED',
      reason: 'SWEEP failed 3 times',
    });
    const noFee = [failed('GAS_TOP_UP'), failed('GAS_TOP_UP'), failed('GAS_TOP_UP')];
    expect(nextStep('TOP_UP', noFee, NOW)).toMatchObject({ kind: 'END', state: 'FAILED' });
  });

  test('what was lent comes back however the sweep ended, and is asked for without end', () => {
    const lost = [moved('DELEGATE'), failed('SWEEP'), failed('SWEEP'), failed('SWEEP')];
    expect(nextStep('STAKE', lost, NOW)).toEqual(begin('UNDELEGATE'));
    const stubborn = [...lost, failed('UNDELEGATE'), failed('UNDELEGATE'), failed('UNDELEGATE')];
    expect(nextStep('STAKE', stubborn, NOW)).toEqual(begin('UNDELEGATE'));
    expect(nextStep('STAKE', [...stubborn, moved('UNDELEGATE')], NOW)).toMatchObject({ state: 'FAILED' });
    // Nothing was lent: nothing is taken back.
    expect(
      nextStep('STAKE', [failed('DELEGATE'), failed('DELEGATE'), failed('DELEGATE')], NOW),
    ).toMatchObject({ kind: 'END', state: 'FAILED' });
  });
});
