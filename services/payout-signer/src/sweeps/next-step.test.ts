import { describe, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import type { MovementKind, SweepMethod } from '@opentill/db/sweep-tables';
import { baseUnits } from '@opentill/domain/money';
import type { SweepPolicy } from '@opentill/wallet/policy/policy';
import { nextStep as nextStepOf, waitsForWallet, type SweepStep } from './next-step.ts';
import type { FeeAtAddress, StepFacts } from './step-facts.ts';
import type { OpenSweep, SweepMove } from './store/sweep-facts.ts';

const NOW = new Date('2026-11-21T12:00:00Z');
const ago = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000);
const later = (minutes: number) => ago(-minutes);

const FACTS: Omit<StepFacts, 'sweep'> = {
  books: { now: NOW, isHalted: false, heldSymbols: new Set(), spentLastDay: 0n, suspendedMethods: new Set() },
  policy: { rent: true, maxRentPerOrderBaseUnits: 10n, maxNativePerDayBaseUnits: 0n } as SweepPolicy,
  energyWaitMs: 600_000,
  hasSeller: true,
  isWalletHalted: false,
  isSponsored: false,
};
const QUOTE = { energy: 65n, priceSun: 10n, unitPriceSun: 1n };
const PROBED = { ...FACTS, delegableBaseUnits: 7n, quote: QUOTE, lentBaseUnits: 1n };

const SWEEP: OpenSweep = {
  sweepId: 'sweep',
  address: 'deposit' as Address,
  depositIndex: 0,
  symbol: 'USDT',
  contract: 'usdt' as TokenContract,
  amountBaseUnits: baseUnits(50n),
  destination: 'cold' as Address,
  destinationKind: 'COLD',
  method: 'FREE',
  costBaseUnits: 5n,
  paidBaseUnits: 0n,
  plannedAt: ago(1),
  moves: [],
  orderedAt: null,
  reason: null,
};

function feeAfter({ moves, orderedAt }: Pick<OpenSweep, 'moves' | 'orderedAt'>): FeeAtAddress {
  const has = (kind: MovementKind) => moves.some((move) => move.kind === kind && move.money === 'PAID_OUT');
  const hasEnergy = has('DELEGATE') || orderedAt !== null;
  const hasCoin = hasEnergy || has('GAS_TOP_UP');
  return {
    isShort: !hasCoin,
    exceedsPlan: false,
    missingCoin: hasCoin ? 0n : 5n,
    energy: {
      isActive: true,
      missingUnits: hasEnergy ? 0n : 65n,
      stakeBaseUnits: 7n,
      maxPriceSun: 10n,
    },
  };
}

/** Probes each fact that a step asks for, at most once. */
function resolve(sweep: OpenSweep, given: Partial<StepFacts>, now: Date): SweepStep {
  const { fee = feeAfter(sweep), delegableBaseUnits, quote, lentBaseUnits } = { ...PROBED, ...given };
  let facts: StepFacts = { ...FACTS, ...given, sweep, books: { ...FACTS.books, ...given.books, now } };
  const answers = {
    PROBE_FEE: { fee },
    PROBE_LENDABLE: { delegableBaseUnits },
    PROBE_QUOTE: { quote },
    PROBE_LENT: { lentBaseUnits },
  };
  for (let probes = 0; probes <= 3; probes += 1) {
    const step = nextStepOf(facts);
    if (!(step.kind in answers)) return step;
    facts = { ...facts, ...answers[step.kind as keyof typeof answers] };
  }
  throw new Error('asks for a fact again');
}

const nextStep = (
  method: SweepMethod,
  moves: readonly SweepMove[],
  now: Date,
  orderedAt: Date | null = null,
  facts: Partial<StepFacts> = {},
) => resolve({ ...SWEEP, method, moves, orderedAt }, facts, now);

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
const takeBack = (reason: string | null) => ({ ...begin('UNDELEGATE'), reason, amountBaseUnits: 1n });
const WAIT = { kind: 'WAIT' };
/** With lent or bought energy, so at once. */
const EMPTY = { ...begin('SWEEP'), amountBaseUnits: 50n, seconds: 1_200 };
const DONE = { kind: 'END', state: 'DONE', reason: null };

describe('next step of a sweep', () => {
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
  ])('decides the next step of %s after %o', (method, moves, expected) => {
    expect(nextStep(method, moves, NOW)).toMatchObject(expected as object);
  });

  test('retries a failed movement with growing pauses, and gives up after three tries', () => {
    const top = moved('GAS_TOP_UP');
    expect(nextStep('TOP_UP', [top, failed('SWEEP', 0.5)], NOW)).toEqual(WAIT);
    expect(nextStep('TOP_UP', [top, failed('SWEEP', 1)], NOW)).toMatchObject(begin('SWEEP'));
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

  test('takes lent stake back after any end, and retries that without limit', () => {
    const lost = [moved('DELEGATE'), failed('SWEEP'), failed('SWEEP'), failed('SWEEP')];
    expect(nextStep('STAKE', lost, NOW)).toMatchObject(takeBack('SWEEP failed 3 times'));
    // Never sent, so it did not fail on the chain.
    const unsigned = lost.map((move) =>
      move.kind === 'SWEEP' ? { ...move, money: 'RELEASED' as const } : move,
    );
    expect(nextStep('STAKE', unsigned, NOW)).toMatchObject(takeBack('SWEEP was not signed in time 3 times'));
    const stubborn = [...lost, failed('UNDELEGATE'), failed('UNDELEGATE'), failed('UNDELEGATE')];
    expect(nextStep('STAKE', stubborn, NOW)).toMatchObject(begin('UNDELEGATE'));
    expect(nextStep('STAKE', [...stubborn, moved('UNDELEGATE')], NOW)).toMatchObject({ state: 'FAILED' });
    expect(
      nextStep('STAKE', [failed('DELEGATE'), failed('DELEGATE'), failed('DELEGATE')], NOW),
    ).toMatchObject({ kind: 'END', state: 'ABANDONED' });
    // Given up because energy did not arrive: the address is planned again.
    expect(nextStep('STAKE', [moved('DELEGATE'), moved('UNDELEGATE')], NOW)).toMatchObject({
      state: 'ABANDONED',
    });
  });

  test('orders energy once, and waits for it from then on', () => {
    const orderedAt = ago(1);
    expect(nextStep('RENT', [], NOW, orderedAt)).toMatchObject(EMPTY);
    expect(nextStep('RENT', [moved('GAS_TOP_UP')], NOW, orderedAt)).toMatchObject(EMPTY);
    expect(nextStep('RENT', [moving('SWEEP')], NOW, orderedAt)).toEqual(WAIT);
    expect(nextStep('RENT', [failed('SWEEP')], NOW, orderedAt)).toMatchObject(EMPTY);
    expect(nextStep('RENT', [moved('SWEEP')], NOW, orderedAt)).toEqual(DONE);
  });

  test('begins only UNDELEGATE once it has begun, and never ends with stake lent', () => {
    const kinds = ['GAS_TOP_UP', 'DELEGATE', 'SWEEP', 'UNDELEGATE'] as const;
    const all = kinds.flatMap((kind) => [moved(kind), moving(kind), promised(kind), failed(kind)]);
    const histories: (readonly SweepMove[])[] = [[]];
    for (let from = 0; from < 1 + all.length + all.length ** 2; from += 1)
      histories.push(...all.map((move) => [...histories[from]!, move]));
    expect(histories).toHaveLength(1 + 16 + 16 ** 2 + 16 ** 3);
    for (const orderedAt of [null, ago(1)])
      for (const moves of histories) {
        const fee = feeAfter({ moves, orderedAt });
        for (const method of ['FREE', 'TOP_UP', 'STAKE', 'RENT'] as const) {
          const step = nextStepOf({ ...PROBED, fee, sweep: { ...SWEEP, method, moves, orderedAt } });
          const last = (kind: MovementKind) => moves.findLast((one) => one.kind === kind);
          const back = last('UNDELEGATE');
          const isLent = moves.some(({ kind, money }) => kind === 'DELEGATE' && money === 'PAID_OUT');
          const isWrong =
            (step.kind === 'END' && isLent && back?.money !== 'PAID_OUT') ||
            (step.kind === 'BEGIN' && back !== undefined && step.movement !== 'UNDELEGATE') ||
            (step.kind === 'BEGIN' && last(step.movement)?.hasEndedUnpaid === false) ||
            (step.kind === 'BUY' && (back !== undefined || orderedAt !== null));
          if (isWrong) throw new Error(JSON.stringify({ method, orderedAt, moves, step }));
        }
      }
  });
});

const NOTHING_MISSING: FeeAtAddress = {
  isShort: false,
  exceedsPlan: false,
  missingCoin: 0n,
  energy: { isActive: true, missingUnits: 0n, stakeBaseUnits: 7n, maxPriceSun: 10n },
};
const LACKING = feeAfter(SWEEP);
const WITHOUT_UNITS: FeeAtAddress = { ...LACKING, isShort: false, missingCoin: 0n };

describe('facts of the chain', () => {
  const end = (reason: string) => ({ kind: 'END', state: 'ABANDONED', reason });
  const inactive: FeeAtAddress = { ...WITHOUT_UNITS, energy: { ...WITHOUT_UNITS.energy!, isActive: false } };
  const unpaid = [failed('GAS_TOP_UP')];

  test.each<[string, SweepMethod, readonly SweepMove[], Partial<StepFacts>, unknown]>([
    ['coin came from elsewhere', 'TOP_UP', [], { fee: WITHOUT_UNITS }, begin('SWEEP')],
    ['coin came from elsewhere', 'STAKE', unpaid, { fee: WITHOUT_UNITS }, begin('DELEGATE')],
    ['coin came from elsewhere', 'RENT', unpaid, { fee: WITHOUT_UNITS }, { kind: 'BUY', quote: QUOTE }],
    ['all is there', 'STAKE', unpaid, { fee: NOTHING_MISSING }, begin('SWEEP')],
    ['all is there', 'RENT', unpaid, { fee: NOTHING_MISSING }, begin('SWEEP')],
    ['energy came from elsewhere', 'STAKE', [], { fee: NOTHING_MISSING }, EMPTY],
    ['energy came from elsewhere', 'RENT', [failed('SWEEP', 0)], { fee: NOTHING_MISSING }, WAIT],
    ['the address is no account', 'STAKE', [], { fee: inactive }, WAIT],
    ['stake is there', 'STAKE', [], {}, { ...begin('DELEGATE'), amountBaseUnits: 7n }],
    ['too little stake is there', 'STAKE', [], { delegableBaseUnits: 6n }, end('no stake is left to lend')],
    ['coin is missing', 'TOP_UP', [], {}, { ...begin('GAS_TOP_UP'), amountBaseUnits: 5n }],
    [
      'a seller is suspended',
      'RENT',
      [],
      { books: { ...FACTS.books, suspendedMethods: new Set(['RENT']) } },
      end('no energy is bought for now'),
    ],
    ['no seller is left', 'RENT', [], { hasSeller: false }, end('energy is no longer bought')],
    ['energy is dearer', 'RENT', [], { quote: { ...QUOTE, priceSun: 11n } }, end('energy got dearer')],
    ['the order was refused', 'RENT', [], { refused: 'too late' }, end('too late')],
  ])('decides the step when %s (%s)', (_, method, moves, facts, expected) => {
    expect(nextStep(method, moves, NOW, null, facts)).toMatchObject(expected as object);
  });

  test('limits the time of SWEEP only when energy is lent or bought', () => {
    expect(nextStep('FREE', [], NOW)).not.toHaveProperty('seconds');
    expect(nextStep('RENT', [], NOW, null, { fee: NOTHING_MISSING })).not.toHaveProperty('seconds');
  });

  test('ends a RENT sweep that needs no order after three failed tries', () => {
    const tries = [failed('SWEEP'), failed('SWEEP'), failed('SWEEP')];
    expect(nextStep('RENT', tries, NOW, null, { fee: NOTHING_MISSING })).toEqual({
      kind: 'END',
      state: 'FAILED',
      reason: 'SWEEP failed 3 times',
    });
  });

  test('waits ten minutes for energy, then ends and takes lent stake back', () => {
    for (const fee of [LACKING, { ...NOTHING_MISSING, exceedsPlan: true }, 'UNKNOWN'] as const) {
      const lent = (now: Date) => nextStep('STAKE', [moved('DELEGATE')], now, null, { fee });
      const bought = (now: Date) => nextStep('RENT', [], now, ago(1), { fee });
      expect([lent(later(8.9)), bought(later(8.9))]).toEqual([WAIT, WAIT]);
      expect(lent(later(9))).toMatchObject(takeBack('energy was not there'));
      expect(bought(later(9))).toEqual(end('energy was not there'));
    }
  });

  test('takes back only what is still lent, and ends when no stake is', () => {
    const lent = { ...moved('DELEGATE'), amountBaseUnits: 9n };
    const back = (lentBaseUnits: bigint, moves: readonly SweepMove[]) =>
      nextStep('STAKE', moves, NOW, null, { lentBaseUnits });
    expect(back(20n, [lent, moved('SWEEP')])).toMatchObject({ ...takeBack(null), amountBaseUnits: 9n });
    expect(back(4n, [lent, moved('SWEEP')])).toMatchObject({ ...takeBack(null), amountBaseUnits: 4n });
    expect(back(0n, [lent, moved('SWEEP')])).toEqual(DONE);
    expect(back(0n, [lent, moved('SWEEP'), failed('UNDELEGATE')])).toEqual(DONE);
    const tries = [failed('SWEEP'), failed('SWEEP'), failed('SWEEP')];
    expect(back(0n, [lent, ...tries])).toMatchObject({ state: 'FAILED', reason: 'SWEEP failed 3 times' });
    expect(nextStep('STAKE', [lent], NOW, null, { lentBaseUnits: 0n, policy: undefined })).toEqual(
      end('the policy has no sweeps here'),
    );
  });

  test('probes a fact only when a step needs it', () => {
    const first = (method: SweepMethod, moves: readonly SweepMove[], facts: Partial<StepFacts> = {}) =>
      nextStepOf({ ...FACTS, ...facts, sweep: { ...SWEEP, method, moves } });
    expect(first('FREE', [])).toMatchObject(begin('SWEEP'));
    expect(first('TOP_UP', [moved('GAS_TOP_UP')])).toMatchObject(begin('SWEEP'));
    expect(first('STAKE', [], { books: { ...FACTS.books, isHalted: true } })).toEqual(WAIT);
    expect(first('STAKE', [])).toEqual({ kind: 'PROBE_FEE', movement: 'DELEGATE' });
    expect(first('STAKE', [], { fee: LACKING })).toMatchObject({ kind: 'PROBE_LENDABLE' });
    expect(first('RENT', [], { fee: LACKING })).toEqual({ kind: 'PROBE_QUOTE', units: 65n });
    expect(first('STAKE', [moved('DELEGATE'), moved('SWEEP')])).toMatchObject({ kind: 'PROBE_LENT' });
  });
});

describe('halted hot wallet', () => {
  const signed = (kind: MovementKind): SweepMove => ({ ...promised(kind), isUnsigned: false });
  const waits = (method: SweepMethod, moves: readonly SweepMove[], isSponsored = false) =>
    waitsForWallet({ ...FACTS, sweep: { ...SWEEP, method, moves }, isSponsored });

  test('waits for a halted sponsor until the sweep is signed', () => {
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
  ])('waits for the halted hot wallet: %s %o', (method, moves) => {
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
    ['TOP_UP', [failed('GAS_TOP_UP'), promised('SWEEP')]], // coin came from elsewhere
    ['RENT', []],
    ['STAKE', [moving('DELEGATE')]],
    ['STAKE', [moved('DELEGATE')]],
    ['STAKE', [moved('DELEGATE'), failed('SWEEP', 0)]],
    ['STAKE', [moved('DELEGATE'), moved('SWEEP'), moving('UNDELEGATE')]],
    ['STAKE', [moved('DELEGATE'), moved('SWEEP'), moved('UNDELEGATE')]],
  ])('does not wait for the halted hot wallet: %s %o', (method, moves) => {
    expect(waits(method, moves)).toBe(false);
  });
});
