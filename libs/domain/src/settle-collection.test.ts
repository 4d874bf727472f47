import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { isCredited, subtractFromCounted, sumTransfers, type TransferFact } from './collection-sums.ts';
import { baseUnits } from './money.ts';
import {
  decideCollection,
  settleCollection,
  type CollectionFacts,
  type CollectionState,
  type CollectionStep,
  type CollectionTerms,
} from './settle-collection.ts';

const CUTOFF = 1_000;
const terms: CollectionTerms = { acceptedAmount: baseUnits(100n), cutoffSeconds: CUTOFF };
const created: CollectionState = {
  status: 'INIT',
  reason: null,
  detectedAmount: baseUnits(0n),
  actualAmount: null,
};

function transfer(amount: bigint, given: Partial<TransferFact> = {}): TransferFact {
  const state = given.state ?? 'DETECTED';
  return {
    transferId: 1,
    txHash: `0x${given.transferId ?? 1}`,
    amount: baseUnits(amount),
    firstBlockTimeSeconds: CUTOFF,
    ...given,
    state,
    deepEnough: given.deepEnough ?? state === 'VERIFIED',
  };
}

interface Facts extends CollectionFacts {
  readonly transfers: readonly TransferFact[];
}

function facts(
  transfers: readonly TransferFact[],
  verifiedTimeSeconds = CUTOFF,
  lateCallbackAllowed = true,
): Facts {
  return { transfers, sums: sumTransfers(terms, transfers), verifiedTimeSeconds, lateCallbackAllowed };
}

function creditedIds(step: CollectionStep | undefined, { transfers }: Facts): readonly number[] {
  return transfers.filter((t) => isCredited(terms, step?.credits ?? null, t)).map((t) => t.transferId);
}

function settle(state: CollectionState, given: CollectionFacts, under = terms) {
  const steps = settleCollection(under, state, given);
  return { state: steps.at(-1)?.next ?? state, notified: steps.flatMap((s) => s.notify ?? []), steps };
}

function history(...given: readonly CollectionFacts[]) {
  let state = created;
  const notified: string[] = [];
  for (const each of given) {
    const settled = settle(state, each);
    state = settled.state;
    notified.push(...settled.notified);
  }
  return { state, notified };
}

describe('settleCollection for a covering payment', () => {
  test('passes PENDING in one call and reports one callback', () => {
    const { state, notified, steps } = settle(created, facts([transfer(100n)]));
    expect(steps.map((s) => s.next.status)).toEqual(['PENDING', 'PENDING_CONFIRMATION']);
    expect(notified).toEqual(['ORDER_PENDING_CONFIRMATION']);
    expect(state).toEqual({
      status: 'PENDING_CONFIRMATION',
      reason: null,
      detectedAmount: 100n,
      actualAmount: null,
    });
  });

  test('becomes SUCCESS when verified and deep enough', () => {
    const shallow = [transfer(100n, { state: 'VERIFIED', deepEnough: false })];
    const waiting = history(facts([transfer(100n)]), facts(shallow));
    expect(waiting.state.status).toBe('PENDING_CONFIRMATION');
    const verified = facts([transfer(100n, { state: 'VERIFIED' })]);
    const { state, notified, steps } = settle(waiting.state, verified);
    expect(state).toEqual({ status: 'SUCCESS', reason: null, detectedAmount: 100n, actualAmount: 100n });
    expect(notified).toEqual(['ORDER_SUCCESS']);
    expect(creditedIds(steps[0], verified)).toEqual([1]);
  });

  test('reports both states when first seen as verified', () => {
    const { state, notified } = settle(created, facts([transfer(100n, { state: 'VERIFIED' })], CUTOFF + 50));
    expect(state.status).toBe('SUCCESS');
    expect(notified).toEqual(['ORDER_PENDING_CONFIRMATION', 'ORDER_SUCCESS']);
  });

  test('accepts an amount within the tolerance and an overpayment', () => {
    const tolerant = { ...terms, acceptedAmount: baseUnits(95n) };
    const less = settle(created, facts([transfer(95n, { state: 'VERIFIED' })]), tolerant);
    expect(less.state).toMatchObject({ status: 'SUCCESS', actualAmount: 95n });
    const tooLittle = settle(created, facts([transfer(94n, { state: 'VERIFIED' })]), tolerant);
    expect(tooLittle.state).toMatchObject({ status: 'PENDING', actualAmount: 94n });
    const more = settle(created, facts([transfer(250n, { state: 'VERIFIED' })]));
    expect(more.state).toMatchObject({ status: 'SUCCESS', actualAmount: 250n });
  });
});

describe('settleCollection for several payments', () => {
  test('reports each growth of a partial payment', () => {
    const one = transfer(30n, { transferId: 1 });
    const two = transfer(30n, { transferId: 2 });
    const three = transfer(40n, { transferId: 3 });
    const { state, notified } = history(
      facts([one]),
      facts([one, two]),
      facts([one, two]),
      facts([one, two, three]),
    );
    expect(notified).toEqual(['ORDER_PENDING', 'ORDER_PENDING', 'ORDER_PENDING_CONFIRMATION']);
    expect(state).toMatchObject({ status: 'PENDING_CONFIRMATION', detectedAmount: 100n });
  });

  test('updates actualAmount of a verified partial payment without a callback', () => {
    const { state, notified } = history(
      facts([transfer(30n)]),
      facts([transfer(30n, { state: 'VERIFIED' })]),
    );
    expect(notified).toEqual(['ORDER_PENDING']);
    expect(state).toMatchObject({ status: 'PENDING', actualAmount: 30n });
  });

  test('credits confirmed money that covers the order but not unconfirmed money', () => {
    const given = facts([
      transfer(60n, { transferId: 1, state: 'VERIFIED' }),
      transfer(50n, { transferId: 2, state: 'VERIFIED' }),
      transfer(5n, { transferId: 3 }),
    ]);
    const { state, steps } = settle(created, given);
    expect(state).toMatchObject({ status: 'SUCCESS', actualAmount: 110n, detectedAmount: 115n });
    expect(creditedIds(steps.at(-1), given)).toEqual([1, 2]);
  });

  test('records more money while confirming without a callback', () => {
    const covered = transfer(100n);
    const { state, notified } = history(facts([covered]), facts([covered, transfer(7n, { transferId: 2 })]));
    expect(notified).toEqual(['ORDER_PENDING_CONFIRMATION']);
    expect(state).toMatchObject({ status: 'PENDING_CONFIRMATION', detectedAmount: 107n });
  });
});

describe('settleCollection for a reorganisation', () => {
  const gone = transfer(100n, { state: 'ORPHANED' });

  test('returns the order to INIT when all payments are removed', () => {
    const { state, notified } = history(facts([transfer(100n)]), facts([gone]));
    expect(state).toEqual({ status: 'INIT', reason: 'Reorganised', detectedAmount: 0n, actualAmount: null });
    expect(notified).toEqual(['ORDER_PENDING_CONFIRMATION', 'ORDER_PENDING']);
  });

  test('returns the order to PENDING when a part is removed', () => {
    const part = transfer(40n, { transferId: 2 });
    const { state } = history(
      facts([transfer(60n), part]),
      facts([{ ...gone, amount: baseUnits(60n) }, part]),
    );
    expect(state).toMatchObject({ status: 'PENDING', reason: 'Reorganised', detectedAmount: 40n });
  });

  test('reports a reduced partial payment and its return', () => {
    const one = transfer(30n, { transferId: 1 });
    const two = transfer(30n, { transferId: 2 });
    const without = facts([one, { ...two, state: 'ORPHANED' }]);
    const shrunk = history(facts([one, two]), without);
    expect(shrunk.state).toMatchObject({ status: 'PENDING', reason: 'Reorganised', detectedAmount: 30n });
    const back = history(facts([one, two]), without, facts([one, two]));
    expect(back.state).toMatchObject({ status: 'PENDING', reason: null, detectedAmount: 60n });
    expect(back.notified).toEqual(['ORDER_PENDING', 'ORDER_PENDING', 'ORDER_PENDING']);
  });

  describe('that removes two payments, of which one returns first', () => {
    const four = transfer(40n, { transferId: 1 });
    const six = transfer(60n, { transferId: 2 });
    const away = { state: 'ORPHANED', deepEnough: false } as const;
    const before = [facts([four, six]), facts([four, six].map((one) => ({ ...one, ...away })))];

    test('does not ask for the other payment, which may still return', () => {
      const one = history(...before, facts([four, { ...six, ...away }]));
      expect(one.state).toMatchObject({ status: 'PENDING', reason: 'Reorganised', detectedAmount: 40n });
      const both = settle(one.state, facts([four, six]));
      expect(both.state).toMatchObject({ status: 'PENDING_CONFIRMATION', reason: null });
      expect([...one.notified, ...both.notified]).toEqual([
        'ORDER_PENDING_CONFIRMATION',
        'ORDER_PENDING',
        'ORDER_PENDING',
        'ORDER_PENDING_CONFIRMATION',
      ]);
    });

    test('asks for no removed payment after another one arrived', () => {
      const other = transfer(5n, { transferId: 3 });
      const { state } = history(...before, facts([four, other, { ...six, ...away }]));
      expect(state).toMatchObject({ status: 'PENDING', reason: 'Reorganised', detectedAmount: 45n });
    });

    test('asks for the rest once a removed transaction returns with less', () => {
      const less = transfer(10n, { transferId: 3, txHash: six.txHash });
      const { state } = history(...before, facts([four, { ...six, ...away }, less]));
      expect(state).toMatchObject({ status: 'PENDING', reason: null, detectedAmount: 50n });
    });

    test('ignores a removed payment that came late', () => {
      const late = { ...six, firstBlockTimeSeconds: CUTOFF + 1 };
      const { state } = history(facts([four, late]), facts([four, { ...late, ...away }]));
      expect(state).toMatchObject({ status: 'PENDING', reason: null, detectedAmount: 40n });
    });
  });

  test('reports a replaced payment even if the sum is the same', () => {
    const one = transfer(30n, { transferId: 1 });
    const { state, notified } = history(
      facts([one]),
      facts([{ ...one, state: 'ORPHANED' }, transfer(30n, { transferId: 2 })]),
    );
    expect(state).toMatchObject({ status: 'PENDING', reason: 'Reorganised', detectedAmount: 30n });
    expect(notified).toEqual(['ORDER_PENDING', 'ORDER_PENDING']);
  });

  test('expires the order after the cutoff, and revives it when the payment returns', () => {
    const late = CUTOFF + 1;
    const expired = history(facts([transfer(100n)]), facts([gone], late));
    expect(expired.state).toMatchObject({ status: 'EXPIRED', reason: 'Not paid' });
    expect(expired.notified).toEqual(['ORDER_PENDING_CONFIRMATION', 'ORDER_PENDING', 'ORDER_EXPIRED']);
    const { state, notified } = settle(expired.state, facts([transfer(100n, { state: 'VERIFIED' })], late));
    expect(state).toMatchObject({ status: 'SUCCESS', reason: null, actualAmount: 100n });
    expect(notified).toEqual(['ORDER_PENDING_CONFIRMATION', 'ORDER_SUCCESS']);
  });

  test('keeps an order in SUCCESS after a reorganisation', () => {
    const paid = history(facts([transfer(100n, { state: 'VERIFIED' })]));
    expect(settle(paid.state, facts([gone], CUTOFF + 99)).steps).toEqual([]);
  });
});

describe('settleCollection for expiry', () => {
  test('waits for a verified block later than the cutoff', () => {
    expect(settle(created, facts([], CUTOFF)).steps).toEqual([]);
    const { state, notified } = settle(created, facts([], CUTOFF + 1));
    expect(state).toEqual({ status: 'EXPIRED', reason: 'Not paid', detectedAmount: 0n, actualAmount: null });
    expect(notified).toEqual(['ORDER_EXPIRED']);
  });

  test('reports the received part when a partial payment expires', () => {
    const { state } = settle(created, facts([transfer(99n, { state: 'VERIFIED' })], CUTOFF + 1));
    expect(state).toMatchObject({ status: 'EXPIRED', reason: 'Underpaid', actualAmount: 99n });
  });

  test('does not expire a covered order that waits for confirmations', () => {
    const { state } = history(facts([transfer(100n)]), facts([transfer(100n)], CUTOFF + 500));
    expect(state.status).toBe('PENDING_CONFIRMATION');
  });

  test('accepts a block in the last second but not one later', () => {
    const inTime = settle(created, facts([transfer(100n, { firstBlockTimeSeconds: CUTOFF })], CUTOFF + 1));
    expect(inTime.state.status).toBe('PENDING_CONFIRMATION');
    const late = settle(created, facts([transfer(100n, { firstBlockTimeSeconds: CUTOFF + 1 })], CUTOFF + 1));
    expect(late.state).toMatchObject({ status: 'EXPIRED', detectedAmount: 0n });
  });

  test('reports each late payment once it is verified', () => {
    const late = { firstBlockTimeSeconds: CUTOFF + 5 };
    const first = transfer(100n, { ...late, transferId: 1, state: 'VERIFIED' });
    const second = transfer(1n, { ...late, transferId: 2, state: 'VERIFIED' });
    const after = CUTOFF + 9;
    const { state, notified } = history(
      facts([], after),
      facts([{ ...first, state: 'DETECTED', deepEnough: false }], after),
      facts([first], after),
      facts([first, second], after),
    );
    expect(notified).toEqual(['ORDER_EXPIRED', 'ORDER_EXPIRED', 'ORDER_EXPIRED']);
    expect(state).toEqual({
      status: 'EXPIRED',
      reason: 'Paid after expiry',
      detectedAmount: 0n,
      actualAmount: 101n,
    });
  });
});

describe('settleCollection for late payments within a minute', () => {
  const late = (transferId: number) =>
    transfer(1n, { transferId, state: 'VERIFIED', firstBlockTimeSeconds: CUTOFF + 5 });
  const after = CUTOFF + 9;
  const three = [late(1), late(2), late(3)];
  const past = history(facts([], after), facts(three.slice(0, 1), after)).state;

  test('delays late payments to the end of the minute and reports one sum', () => {
    const second = settle(past, facts(three.slice(0, 2), after, false));
    const third = settle(second.state, facts(three, after, false));
    expect([...second.notified, ...third.notified]).toEqual([]);
    expect(third.state).toMatchObject({ status: 'EXPIRED', actualAmount: 3n, owesLateCallback: true });
    const notified = settle(third.state, facts(three, after));
    expect(notified.notified).toEqual(['ORDER_EXPIRED']);
    expect(notified.state).toEqual({ ...third.state, owesLateCallback: undefined });
    expect(settle(notified.state, facts(three, after)).steps).toEqual([]);
  });

  test('keeps an owed callback while only another amount changes', () => {
    const owing = settle(past, facts(three, after, false)).state;
    const seen = transfer(1n, { transferId: 4 });
    const { state, notified } = settle(owing, facts([...three, seen], after, false));
    expect(notified).toEqual([]);
    expect(state).toMatchObject({ detectedAmount: 1n, owesLateCallback: true });
  });
});

describe('settleCollection for dust', () => {
  const byDust = (state: CollectionState, given: CollectionFacts) =>
    settleCollection(terms, state, given, { byDustOnly: true });
  const dust = transfer(1n, { transferId: 2, state: 'VERIFIED' });

  test('does not move an open or expired order that it does not cover', () => {
    const expiredOrder = settle(created, facts([], CUTOFF + 1)).state;
    const partly = settle(created, facts([transfer(50n)])).state;
    expect(byDust(created, facts([dust]))).toEqual([]);
    expect(byDust(partly, facts([transfer(50n), dust]))).toEqual([]);
    expect(byDust(expiredOrder, facts([{ ...dust, firstBlockTimeSeconds: CUTOFF + 2 }], CUTOFF + 3))).toEqual(
      [],
    );
  });

  test('completes an order with the last cent and undoes that when orphaned', () => {
    const most = transfer(99n, { state: 'VERIFIED' });
    const paid = byDust(settle(created, facts([most])).state, facts([most, dust]));
    expect(paid.at(-1)?.next).toMatchObject({ status: 'SUCCESS', actualAmount: 100n });
    const covered = settle(created, facts([transfer(99n), dust])).state;
    const [back] = byDust(covered, facts([transfer(99n), { ...dust, state: 'ORPHANED', deepEnough: false }]));
    expect(back?.next).toMatchObject({ status: 'PENDING', detectedAmount: 99n });
  });
});

test('computes the same sums from counted sums as from all transfers', () => {
  const everyFact = fc.tuple(transferFact, fc.constantFrom('kept', 'elsewhere', 'refunded'));
  fc.assert(
    fc.property(fc.array(everyFact, { maxLength: 5 }), (all) => {
      const named = all.map(([one, kind], i) => ({
        ...one,
        txHash: `0x${i}`,
        refunded: kind === 'refunded',
      }));
      const of = (kind: string) => named.filter((_, i) => all[i]?.[1] === kind);
      const whole = sumTransfers(
        terms,
        named.map((t) => ({ ...t, refunded: false })),
      );
      const verifiedInTime = baseUnits(whole.verified - whole.verifiedLate);
      const counted = {
        inTime: whole.arrived,
        verifiedInTime,
        verifiedLate: whole.verifiedLate,
        shallow: baseUnits(verifiedInTime - whole.confirmed),
        away: whole.away,
      };
      const here = named.filter((_, i) => all[i]?.[1] !== 'elsewhere');
      const { away: _, ...sums } = subtractFromCounted(terms, counted, of('elsewhere'), of('refunded'));
      const { away: __, ...expected } = sumTransfers(terms, here);
      expect(sums).toEqual(expected);
    }),
  );
});

test('keeps a refused order refused', () => {
  const failed: CollectionState = { ...created, status: 'FAILED', reason: 'fraud' };
  expect(settle(failed, facts([transfer(100n, { state: 'VERIFIED' })])).steps).toEqual([]);
});

const transferFact: fc.Arbitrary<TransferFact> = fc
  .record({
    amount: fc.integer({ min: 1, max: 120 }),
    state: fc.constantFrom('DETECTED', 'VERIFIED', 'ORPHANED'),
    firstBlockTimeSeconds: fc.integer({ min: CUTOFF - 3, max: CUTOFF + 3 }),
    deep: fc.boolean(),
  })
  .map(({ amount, state, firstBlockTimeSeconds, deep }) =>
    transfer(BigInt(amount), { state, firstBlockTimeSeconds, deepEnough: deep && state === 'VERIFIED' }),
  );
const anyTransfers = fc
  .array(transferFact, { maxLength: 4 })
  .map((all) => all.map((one, i) => ({ ...one, transferId: i + 1, txHash: `0x${i + 1}` })));
const anyFacts = fc
  .tuple(anyTransfers, fc.integer({ min: CUTOFF - 3, max: CUTOFF + 3 }))
  .map(([transfers, verifiedTimeSeconds]) => facts(transfers, verifiedTimeSeconds));
const anyHistory = fc.array(anyFacts, { maxLength: 6 });

function inTimeSum(given: Facts, confirmedOnly: boolean): bigint {
  return given.transfers
    .filter((t) => t.state !== 'ORPHANED' && t.firstBlockTimeSeconds <= CUTOFF)
    .filter((t) => !confirmedOnly || t.deepEnough)
    .reduce((sum, t) => sum + t.amount, 0n);
}

function replay(given: readonly Facts[]): {
  end: CollectionState;
  moves: { from: CollectionState; step: CollectionStep; facts: Facts }[];
} {
  let state = created;
  const moves: { from: CollectionState; step: CollectionStep; facts: Facts }[] = [];
  for (const each of given) {
    for (const step of settleCollection(terms, state, each)) {
      moves.push({ from: state, step, facts: each });
      state = step.next;
    }
  }
  return { end: state, moves };
}

describe('settleCollection with arbitrary histories', () => {
  const runs = { numRuns: 700 };

  test('is idempotent for the same facts', () => {
    fc.assert(
      fc.property(anyHistory, anyFacts, (past, last) => {
        const { end } = replay([...past, last]);
        expect(decideCollection(terms, end, last)).toBeUndefined();
      }),
      runs,
    );
  });

  test('ends in the same state for equal final facts after any history', () => {
    // Excludes histories with SUCCESS, which is terminal, or EXPIRED, which stays when the verified time moves back.
    const past = anyHistory.map((all) => all.filter((f) => inTimeSum(f, true) < terms.acceptedAmount));
    fc.assert(
      fc.property(past, past, anyFacts, (one, other, last) => {
        const late = [...one, ...other].some((f) => f.verifiedTimeSeconds > CUTOFF);
        fc.pre(!late || last.verifiedTimeSeconds > CUTOFF);
        const a = replay([...one, last]).end;
        const b = replay([...other, ...other, last]).end;
        const { reason: reasonA, ...restA } = a;
        const { reason: reasonB, ...restB } = b;
        expect(restA).toEqual(restB);
        // the reason of an open order depends on its history
        if (a.status !== 'INIT' && a.status !== 'PENDING') expect(reasonA).toBe(reasonB);
      }),
      runs,
    );
  });

  test('does not depend on the order of transfers', () => {
    fc.assert(
      fc.property(anyHistory, anyFacts, (past, last) => {
        const reversed = facts(last.transfers.toReversed(), last.verifiedTimeSeconds);
        expect(replay([...past, reversed]).end).toEqual(replay([...past, last]).end);
      }),
      runs,
    );
  });

  test('requires confirmed, covering money for SUCCESS and credits exactly that', () => {
    fc.assert(
      fc.property(anyHistory, (given) => {
        for (const { step, facts: seen } of replay(given).moves) {
          if (step.event !== 'confirmed') {
            expect(step.credits).toBeNull();
            continue;
          }
          const credited = seen.transfers.filter((t) => isCredited(terms, step.credits, t));
          const sum = credited.reduce((total, t) => total + t.amount, 0n);
          expect(step.next.actualAmount).toBe(sum);
          expect(sum).toBe(inTimeSum(seen, true));
          expect(sum).toBeGreaterThanOrEqual(terms.acceptedAmount);
        }
      }),
      runs,
    );
  });

  test('never leaves SUCCESS', () => {
    fc.assert(
      fc.property(anyHistory, (given) => {
        const { moves } = replay(given);
        const success = moves.findIndex(({ step }) => step.next.status === 'SUCCESS');
        expect(success === -1 || success === moves.length - 1).toBe(true);
      }),
      runs,
    );
  });

  test('expires no order before the cutoff or while it is covered', () => {
    fc.assert(
      fc.property(anyHistory, (given) => {
        for (const { step, facts: seen } of replay(given).moves) {
          if (step.next.status !== 'EXPIRED' || step.event !== 'expired') continue;
          expect(seen.verifiedTimeSeconds).toBeGreaterThan(CUTOFF);
          expect(inTimeSum(seen, false)).toBeLessThan(terms.acceptedAmount);
        }
      }),
      runs,
    );
  });

  test('keeps detectedAmount equal to the chain until a terminal status', () => {
    fc.assert(
      fc.property(anyHistory, anyFacts, (past, last) => {
        const before = replay(past).end;
        fc.pre(before.status !== 'SUCCESS');
        expect(replay([...past, last]).end.detectedAmount).toBe(inTimeSum(last, false));
      }),
      runs,
    );
  });

  test('asks for no rest while a removed payment may return', () => {
    fc.assert(
      fc.property(anyHistory, anyFacts, (past, last) => {
        const { end } = replay([...past, last]);
        fc.pre(end.status === 'PENDING');
        const away = last.transfers.some((t) => t.state === 'ORPHANED' && t.firstBlockTimeSeconds <= CUTOFF);
        if (away) expect(end.reason).toBe('Reorganised');
      }),
      runs,
    );
  });

  test('reports every status change except the PENDING that a covering payment passes', () => {
    fc.assert(
      fc.property(anyHistory, (given) => {
        for (const { from, step } of replay(given).moves) {
          if (from.status === step.next.status || step.notify !== null) continue;
          expect([from.status, step.event]).toEqual(['INIT', 'partlyPaid']);
          expect(step.next.detectedAmount).toBeGreaterThanOrEqual(terms.acceptedAmount);
        }
      }),
      runs,
    );
  });
});
