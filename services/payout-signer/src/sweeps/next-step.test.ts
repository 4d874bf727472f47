import { describe, expect, test } from 'vitest';
import type { MovementKind, SweepMethod } from '@opentill/db/sweep-tables';
import { nextStep as nextStepOf } from './next-step.ts';
import type { SweepMove } from './store/sweep-facts.ts';
import { waitsForWallet } from './waits-for-wallet.ts';

const NOW = new Date('2026-11-21T12:00:00Z');
const ago = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000);

const nextStep = (
  method: SweepMethod,
  moves: readonly SweepMove[],
  now: Date,
  orderedAt: Date | null = null,
) => nextStepOf({ method, moves, orderedAt, reason: null }, now);

const moved = (kind: MovementKind): SweepMove => ({
  kind,
  money: 'PAID_OUT',
  amountBaseUnits: 1n,
  isUnsigned: false,
  hasEndedUnpaid: false,
  endedAt: null,
  changedAt: ago(1),
});
const moving = (kind: MovementKind): SweepMove => ({
  kind,
  money: 'IN_FLIGHT',
  amountBaseUnits: 1n,
  isUnsigned: false,
  hasEndedUnpaid: false,
  endedAt: null,
  changedAt: ago(1),
});
const promised = (kind: MovementKind): SweepMove => ({
  ...moving(kind),
  money: 'RESERVED',
  isUnsigned: true,
});
const failed = (kind: MovementKind, minutes = 60): SweepMove => ({
  kind,
  money: 'RETURNED',
  amountBaseUnits: 1n,
  isUnsigned: false,
  hasEndedUnpaid: true,
  endedAt: ago(minutes),
  changedAt: ago(minutes),
});
const begin = (movement: MovementKind) => ({ kind: 'BEGIN', movement });
const takeBack = (reason: string | null) => ({ ...begin('UNDELEGATE'), reason });
const WAIT = { kind: 'WAIT' };
const EMPTY = { kind: 'EMPTY', workSince: ago(1) };
const DONE = { kind: 'END', state: 'DONE', reason: null };

describe('the next step of a sweep', () => {
  test.each<[SweepMethod, readonly SweepMove[], unknown]>([
    ['FREE', [], begin('SWEEP')],
    ['FREE', [promised('SWEEP')], WAIT],
    ['FREE', [moving('SWEEP')], WAIT],
    ['FREE', [moved('SWEEP')], DONE],
    ['RENT', [], { kind: 'BUY' }],
    ['RENT', [promised('GAS_TOP_UP')], WAIT],
    ['RENT', [failed('GAS_TOP_UP')], begin('GAS_TOP_UP')],
    ['RENT', [moved('GAS_TOP_UP')], { kind: 'BUY' }],
    ['TOP_UP', [], begin('GAS_TOP_UP')],
    ['TOP_UP', [promised('GAS_TOP_UP')], WAIT],
    ['TOP_UP', [moving('GAS_TOP_UP')], WAIT],
    ['TOP_UP', [moved('GAS_TOP_UP')], begin('SWEEP')],
    ['TOP_UP', [moved('GAS_TOP_UP'), moving('SWEEP')], WAIT],
    ['TOP_UP', [moved('GAS_TOP_UP'), moved('SWEEP')], DONE],
    ['TOP_UP', [failed('GAS_TOP_UP'), moving('SWEEP')], WAIT],
    ['TOP_UP', [failed('GAS_TOP_UP'), moved('SWEEP')], DONE],
    ['RENT', [promised('SWEEP')], WAIT],
    ['RENT', [moved('SWEEP')], DONE],
    ['STAKE', [failed('DELEGATE'), moving('SWEEP')], WAIT],
    ['STAKE', [failed('DELEGATE'), moved('SWEEP')], DONE],
    ['TOP_UP', [failed('GAS_TOP_UP')], begin('GAS_TOP_UP')],
    ['TOP_UP', [failed('GAS_TOP_UP'), moved('GAS_TOP_UP')], begin('SWEEP')],
    ['STAKE', [], begin('DELEGATE')],
    ['STAKE', [promised('GAS_TOP_UP')], WAIT],
    ['STAKE', [moved('GAS_TOP_UP')], begin('DELEGATE')],
    ['STAKE', [promised('DELEGATE')], WAIT],
    ['STAKE', [moved('DELEGATE')], EMPTY],
    ['STAKE', [moved('DELEGATE'), failed('SWEEP')], EMPTY],
    ['STAKE', [moved('DELEGATE'), failed('SWEEP', 0)], WAIT],
    ['STAKE', [moved('DELEGATE'), moving('UNDELEGATE')], WAIT],
    ['STAKE', [moved('DELEGATE'), failed('SWEEP'), moving('UNDELEGATE')], WAIT],
    ['STAKE', [moved('DELEGATE'), moving('SWEEP')], WAIT],
    ['STAKE', [moved('DELEGATE'), moved('SWEEP')], takeBack(null)],
    ['STAKE', [moved('DELEGATE'), moved('SWEEP'), moving('UNDELEGATE')], WAIT],
    ['STAKE', [moved('DELEGATE'), moved('SWEEP'), moved('UNDELEGATE')], DONE],
  ])('%s after %o', (method, moves, expected) => {
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
    expect(nextStep('STAKE', lost, NOW)).toEqual(takeBack('SWEEP failed 3 times'));
    // Nothing was sent, so nothing failed on the chain.
    const unsigned = lost.map((move) =>
      move.kind === 'SWEEP' ? { ...move, money: 'RELEASED' as const } : move,
    );
    expect(nextStep('STAKE', unsigned, NOW)).toEqual(takeBack('SWEEP was not signed in time 3 times'));
    const stubborn = [...lost, failed('UNDELEGATE'), failed('UNDELEGATE'), failed('UNDELEGATE')];
    expect(nextStep('STAKE', stubborn, NOW)).toEqual(begin('UNDELEGATE'));
    expect(nextStep('STAKE', [...stubborn, moved('UNDELEGATE')], NOW)).toMatchObject({ state: 'FAILED' });
    // Nothing was lent: nothing is taken back.
    expect(
      nextStep('STAKE', [failed('DELEGATE'), failed('DELEGATE'), failed('DELEGATE')], NOW),
    ).toMatchObject({ kind: 'END', state: 'ABANDONED' });
    // Given up for want of energy: emptied another time.
    expect(nextStep('STAKE', [moved('DELEGATE'), moved('UNDELEGATE')], NOW)).toMatchObject({
      state: 'ABANDONED',
    });
  });

  test('what is bought is bought once, and waited for from then on', () => {
    const orderedAt = ago(1);
    expect(nextStep('RENT', [], NOW, orderedAt)).toEqual(EMPTY);
    expect(nextStep('RENT', [moved('GAS_TOP_UP')], NOW, orderedAt)).toEqual(EMPTY);
    expect(nextStep('RENT', [moving('SWEEP')], NOW, orderedAt)).toEqual(WAIT);
    expect(nextStep('RENT', [failed('SWEEP')], NOW, orderedAt)).toEqual(EMPTY);
    expect(nextStep('RENT', [moved('SWEEP')], NOW, orderedAt)).toEqual(DONE);
  });

  test('whatever happened, nothing is begun beside taking back, and nothing ends with something lent', () => {
    const kinds = ['GAS_TOP_UP', 'DELEGATE', 'SWEEP', 'UNDELEGATE'] as const;
    const all = kinds.flatMap((kind) => [moved(kind), moving(kind), promised(kind), failed(kind)]);
    const histories: (readonly SweepMove[])[] = [[]];
    for (let from = 0; from < 1 + all.length + all.length ** 2; from += 1)
      histories.push(...all.map((move) => [...histories[from]!, move]));
    expect(histories).toHaveLength(1 + 16 + 16 ** 2 + 16 ** 3);
    for (const method of ['FREE', 'TOP_UP', 'STAKE', 'RENT'] as const)
      for (const orderedAt of [null, ago(1)])
        for (const moves of histories) {
          const step = nextStep(method, moves, NOW, orderedAt);
          const last = (kind: MovementKind) => moves.findLast((one) => one.kind === kind);
          const back = last('UNDELEGATE');
          const isLent = moves.some(({ kind, money }) => kind === 'DELEGATE' && money === 'PAID_OUT');
          const isWrong =
            (step.kind === 'END' && isLent && back?.money !== 'PAID_OUT') ||
            (step.kind === 'BEGIN' && back !== undefined && step.movement !== 'UNDELEGATE') ||
            // One of a kind at a time, and nothing is bought twice.
            (step.kind === 'BEGIN' && last(step.movement)?.hasEndedUnpaid === false) ||
            (['EMPTY', 'BUY'].includes(step.kind) && back !== undefined) ||
            (step.kind === 'BUY' && orderedAt !== null);
          if (isWrong) throw new Error(JSON.stringify({ method, orderedAt, moves, step }));
        }
  });
});

describe('a halted hot wallet', () => {
  const signed = (kind: MovementKind): SweepMove => ({ ...promised(kind), isUnsigned: false });
  const waits = (method: SweepMethod, moves: readonly SweepMove[], isSponsored = false) =>
    waitsForWallet({ method, moves, orderedAt: null, reason: null }, NOW, isSponsored);

  test('that pays the fee of the sweep itself is waited for until that is signed', () => {
    for (const moves of [[], [promised('SWEEP')], [failed('SWEEP', 0)], [failed('SWEEP')]])
      expect([waits('FREE', moves, true), waits('FREE', moves)]).toEqual([true, false]);
    for (const moves of [[signed('SWEEP')], [moving('SWEEP')], [moved('SWEEP')]])
      expect(waits('FREE', moves, true)).toBe(false);
  });

  test.each<[SweepMethod, readonly SweepMove[]]>([
    ['TOP_UP', []],
    ['TOP_UP', [promised('GAS_TOP_UP')]],
    ['TOP_UP', [failed('GAS_TOP_UP', 0)]],
    ['TOP_UP', [failed('GAS_TOP_UP')]],
    ['RENT', [promised('GAS_TOP_UP')]],
    ['STAKE', [promised('DELEGATE')]],
    ['STAKE', [moved('GAS_TOP_UP')]],
    ['STAKE', [moved('GAS_TOP_UP'), failed('DELEGATE', 0)]],
    ['STAKE', [moved('DELEGATE'), moved('SWEEP')]],
    ['STAKE', [moved('DELEGATE'), moved('SWEEP'), promised('UNDELEGATE')]],
    ['STAKE', [moved('DELEGATE'), moved('SWEEP'), failed('UNDELEGATE', 0)]],
  ])('is waited for: %s %o', (method, moves) => {
    expect(waits(method, moves)).toBe(true);
  });

  test.each<[SweepMethod, readonly SweepMove[]]>([
    ['FREE', []],
    ['FREE', [promised('SWEEP')]],
    ['FREE', [failed('SWEEP', 0)]],
    ['TOP_UP', [signed('GAS_TOP_UP')]],
    ['TOP_UP', [moving('GAS_TOP_UP')]],
    ['TOP_UP', [moved('GAS_TOP_UP')]],
    ['TOP_UP', [moved('GAS_TOP_UP'), moving('SWEEP')]],
    ['TOP_UP', [failed('GAS_TOP_UP'), promised('SWEEP')]], // coin came otherwise
    ['RENT', []],
    ['STAKE', [moving('DELEGATE')]],
    ['STAKE', [moved('DELEGATE')]],
    ['STAKE', [moved('DELEGATE'), failed('SWEEP', 0)]],
    ['STAKE', [moved('DELEGATE'), moved('SWEEP'), moving('UNDELEGATE')]],
    ['STAKE', [moved('DELEGATE'), moved('SWEEP'), moved('UNDELEGATE')]],
  ])('is not waited for: %s %o', (method, moves) => {
    expect(waits(method, moves)).toBe(false);
  });
});
