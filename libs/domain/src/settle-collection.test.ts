import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { baseUnits } from './money.ts';
import {
  decideCollection,
  settleCollection,
  type CollectionFacts,
  type CollectionState,
  type CollectionStep,
  type CollectionTerms,
  type TransferFact,
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

function facts(transfers: readonly TransferFact[], verifiedTimeSeconds = CUTOFF): CollectionFacts {
  return { transfers, verifiedTimeSeconds };
}

function settle(state: CollectionState, given: CollectionFacts, under = terms) {
  const steps = settleCollection(under, state, given);
  return { state: steps.at(-1)?.next ?? state, told: steps.flatMap((s) => s.notify ?? []), steps };
}

/** Applies several sets of facts one after another. */
function history(...given: readonly CollectionFacts[]) {
  let state = created;
  const told: string[] = [];
  for (const each of given) {
    const settled = settle(state, each);
    state = settled.state;
    told.push(...settled.told);
  }
  return { state, told };
}

describe('a payment that covers the order', () => {
  test('goes through PENDING in one go and is told once', () => {
    const { state, told, steps } = settle(created, facts([transfer(100n)]));
    expect(steps.map((s) => s.next.status)).toEqual(['PENDING', 'PENDING_CONFIRMATION']);
    expect(told).toEqual(['ORDER_PENDING_CONFIRMATION']);
    expect(state).toEqual({
      status: 'PENDING_CONFIRMATION',
      reason: null,
      detectedAmount: 100n,
      actualAmount: null,
    });
  });

  test('is SUCCESS when verified and deep enough', () => {
    const shallow = [transfer(100n, { state: 'VERIFIED', deepEnough: false })];
    const waiting = history(facts([transfer(100n)]), facts(shallow));
    expect(waiting.state.status).toBe('PENDING_CONFIRMATION');
    const { state, told, steps } = settle(waiting.state, facts([transfer(100n, { state: 'VERIFIED' })]));
    expect(state).toEqual({ status: 'SUCCESS', reason: null, detectedAmount: 100n, actualAmount: 100n });
    expect(told).toEqual(['ORDER_SUCCESS']);
    expect(steps[0]?.creditedTransferIds).toEqual([1]);
  });

  test('seen only when already verified tells of both states', () => {
    const { state, told } = settle(created, facts([transfer(100n, { state: 'VERIFIED' })], CUTOFF + 50));
    expect(state.status).toBe('SUCCESS');
    expect(told).toEqual(['ORDER_PENDING_CONFIRMATION', 'ORDER_SUCCESS']);
  });

  test('may be less by the tolerance and more than asked for', () => {
    const tolerant = { ...terms, acceptedAmount: baseUnits(95n) };
    const less = settle(created, facts([transfer(95n, { state: 'VERIFIED' })]), tolerant);
    expect(less.state).toMatchObject({ status: 'SUCCESS', actualAmount: 95n });
    const tooLittle = settle(created, facts([transfer(94n, { state: 'VERIFIED' })]), tolerant);
    expect(tooLittle.state).toMatchObject({ status: 'PENDING', actualAmount: 94n });
    const more = settle(created, facts([transfer(250n, { state: 'VERIFIED' })]));
    expect(more.state).toMatchObject({ status: 'SUCCESS', actualAmount: 250n });
  });
});

describe('several payments', () => {
  test('each growth of a partial payment is told', () => {
    const one = transfer(30n, { transferId: 1 });
    const two = transfer(30n, { transferId: 2 });
    const three = transfer(40n, { transferId: 3 });
    const { state, told } = history(
      facts([one]),
      facts([one, two]),
      facts([one, two]),
      facts([one, two, three]),
    );
    expect(told).toEqual(['ORDER_PENDING', 'ORDER_PENDING', 'ORDER_PENDING_CONFIRMATION']);
    expect(state).toMatchObject({ status: 'PENDING_CONFIRMATION', detectedAmount: 100n });
  });

  test('a partial payment that gets verified changes actualAmount without a callback', () => {
    const { state, told } = history(facts([transfer(30n)]), facts([transfer(30n, { state: 'VERIFIED' })]));
    expect(told).toEqual(['ORDER_PENDING']);
    expect(state).toMatchObject({ status: 'PENDING', actualAmount: 30n });
  });

  test('what covers the order is credited, what is not yet confirmed is not', () => {
    const given = facts([
      transfer(60n, { transferId: 1, state: 'VERIFIED' }),
      transfer(50n, { transferId: 2, state: 'VERIFIED' }),
      transfer(5n, { transferId: 3 }),
    ]);
    const { state, steps } = settle(created, given);
    expect(state).toMatchObject({ status: 'SUCCESS', actualAmount: 110n, detectedAmount: 115n });
    expect(steps.at(-1)?.creditedTransferIds).toEqual([1, 2]);
  });

  test('more money while confirming is noted and not told', () => {
    const covered = transfer(100n);
    const { state, told } = history(facts([covered]), facts([covered, transfer(7n, { transferId: 2 })]));
    expect(told).toEqual(['ORDER_PENDING_CONFIRMATION']);
    expect(state).toMatchObject({ status: 'PENDING_CONFIRMATION', detectedAmount: 107n });
  });
});

describe('a reorganisation', () => {
  const gone = transfer(100n, { state: 'ORPHANED' });

  test('that takes all puts the order back to INIT', () => {
    const { state, told } = history(facts([transfer(100n)]), facts([gone]));
    expect(state).toEqual({ status: 'INIT', reason: 'Reorganised', detectedAmount: 0n, actualAmount: null });
    expect(told).toEqual(['ORDER_PENDING_CONFIRMATION', 'ORDER_PENDING']);
  });

  test('that takes a part puts it back to PENDING', () => {
    const part = transfer(40n, { transferId: 2 });
    const { state } = history(
      facts([transfer(60n), part]),
      facts([{ ...gone, amount: baseUnits(60n) }, part]),
    );
    expect(state).toMatchObject({ status: 'PENDING', reason: 'Reorganised', detectedAmount: 40n });
  });

  test('that shrinks a partial payment is told, and its return too', () => {
    const one = transfer(30n, { transferId: 1 });
    const two = transfer(30n, { transferId: 2 });
    const without = facts([one, { ...two, state: 'ORPHANED' }]);
    const shrunk = history(facts([one, two]), without);
    expect(shrunk.state).toMatchObject({ status: 'PENDING', reason: 'Reorganised', detectedAmount: 30n });
    const back = history(facts([one, two]), without, facts([one, two]));
    expect(back.state).toMatchObject({ status: 'PENDING', reason: null, detectedAmount: 60n });
    expect(back.told).toEqual(['ORDER_PENDING', 'ORDER_PENDING', 'ORDER_PENDING']);
  });

  describe('that takes two payments back, of which one returns first', () => {
    const four = transfer(40n, { transferId: 1 });
    const six = transfer(60n, { transferId: 2 });
    const away = { state: 'ORPHANED', deepEnough: false } as const;
    const before = [facts([four, six]), facts([four, six].map((one) => ({ ...one, ...away })))];

    test('asks nobody for the other one, which is still away', () => {
      const one = history(...before, facts([four, { ...six, ...away }]));
      expect(one.state).toMatchObject({ status: 'PENDING', reason: 'Reorganised', detectedAmount: 40n });
      const both = settle(one.state, facts([four, six]));
      expect(both.state).toMatchObject({ status: 'PENDING_CONFIRMATION', reason: null });
      expect([...one.told, ...both.told]).toEqual([
        'ORDER_PENDING_CONFIRMATION',
        'ORDER_PENDING',
        'ORDER_PENDING',
        'ORDER_PENDING_CONFIRMATION',
      ]);
    });

    test('nor when somebody has sent something else meanwhile', () => {
      const other = transfer(5n, { transferId: 3 });
      const { state } = history(...before, facts([four, other, { ...six, ...away }]));
      expect(state).toMatchObject({ status: 'PENDING', reason: 'Reorganised', detectedAmount: 45n });
    });

    test('asks for what is missing once its transaction is back and does less', () => {
      const less = transfer(10n, { transferId: 3, txHash: six.txHash });
      const { state } = history(...before, facts([four, { ...six, ...away }, less]));
      expect(state).toMatchObject({ status: 'PENDING', reason: null, detectedAmount: 50n });
    });

    test('lets what came after the time be away', () => {
      const late = { ...six, firstBlockTimeSeconds: CUTOFF + 1 };
      const { state } = history(facts([four, late]), facts([four, { ...late, ...away }]));
      expect(state).toMatchObject({ status: 'PENDING', reason: null, detectedAmount: 40n });
    });
  });

  test('of one payment in whose place another one stands is told, though the sum is the same', () => {
    const one = transfer(30n, { transferId: 1 });
    const { state, told } = history(
      facts([one]),
      facts([{ ...one, state: 'ORPHANED' }, transfer(30n, { transferId: 2 })]),
    );
    expect(state).toMatchObject({ status: 'PENDING', reason: 'Reorganised', detectedAmount: 30n });
    expect(told).toEqual(['ORDER_PENDING', 'ORDER_PENDING']);
  });

  test('after the cutoff expires the order, and the return of the payment revives it', () => {
    const late = CUTOFF + 1;
    const expired = history(facts([transfer(100n)]), facts([gone], late));
    expect(expired.state).toMatchObject({ status: 'EXPIRED', reason: 'Not paid' });
    expect(expired.told).toEqual(['ORDER_PENDING_CONFIRMATION', 'ORDER_PENDING', 'ORDER_EXPIRED']);
    const { state, told } = settle(expired.state, facts([transfer(100n, { state: 'VERIFIED' })], late));
    expect(state).toMatchObject({ status: 'SUCCESS', reason: null, actualAmount: 100n });
    expect(told).toEqual(['ORDER_PENDING_CONFIRMATION', 'ORDER_SUCCESS']);
  });

  test('does not move a SUCCESS', () => {
    const paid = history(facts([transfer(100n, { state: 'VERIFIED' })]));
    expect(settle(paid.state, facts([gone], CUTOFF + 99)).steps).toEqual([]);
  });
});

describe('expiry', () => {
  test('waits for a verified block later than the cutoff', () => {
    expect(settle(created, facts([], CUTOFF)).steps).toEqual([]);
    const { state, told } = settle(created, facts([], CUTOFF + 1));
    expect(state).toEqual({ status: 'EXPIRED', reason: 'Not paid', detectedAmount: 0n, actualAmount: null });
    expect(told).toEqual(['ORDER_EXPIRED']);
  });

  test('of a partial payment says what came', () => {
    const { state } = settle(created, facts([transfer(99n, { state: 'VERIFIED' })], CUTOFF + 1));
    expect(state).toMatchObject({ status: 'EXPIRED', reason: 'Underpaid', actualAmount: 99n });
  });

  test('does not touch an order that is covered and waits for confirmations', () => {
    const { state } = history(facts([transfer(100n)]), facts([transfer(100n)], CUTOFF + 500));
    expect(state.status).toBe('PENDING_CONFIRMATION');
  });

  test('counts a block in the very last second, not one later', () => {
    const inTime = settle(created, facts([transfer(100n, { firstBlockTimeSeconds: CUTOFF })], CUTOFF + 1));
    expect(inTime.state.status).toBe('PENDING_CONFIRMATION');
    const late = settle(created, facts([transfer(100n, { firstBlockTimeSeconds: CUTOFF + 1 })], CUTOFF + 1));
    expect(late.state).toMatchObject({ status: 'EXPIRED', detectedAmount: 0n });
  });

  test('a late payment is told once it is verified, each further one again', () => {
    const late = { firstBlockTimeSeconds: CUTOFF + 5 };
    const first = transfer(100n, { ...late, transferId: 1, state: 'VERIFIED' });
    const second = transfer(1n, { ...late, transferId: 2, state: 'VERIFIED' });
    const after = CUTOFF + 9;
    const { state, told } = history(
      facts([], after),
      facts([{ ...first, state: 'DETECTED', deepEnough: false }], after),
      facts([first], after),
      facts([first, second], after),
    );
    expect(told).toEqual(['ORDER_EXPIRED', 'ORDER_EXPIRED', 'ORDER_EXPIRED']);
    expect(state).toEqual({
      status: 'EXPIRED',
      reason: 'Paid after expiry',
      detectedAmount: 0n,
      actualAmount: 101n,
    });
  });
});

test('a refused order stays refused', () => {
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
const anyFacts: fc.Arbitrary<CollectionFacts> = fc.record({
  transfers: fc
    .array(transferFact, { maxLength: 4 })
    .map((all) => all.map((one, i) => ({ ...one, transferId: i + 1, txHash: `0x${i + 1}` }))),
  verifiedTimeSeconds: fc.integer({ min: CUTOFF - 3, max: CUTOFF + 3 }),
});
const anyHistory = fc.array(anyFacts, { maxLength: 6 });

function inTimeSum(given: CollectionFacts, confirmedOnly: boolean): bigint {
  return given.transfers
    .filter((t) => t.state !== 'ORPHANED' && t.firstBlockTimeSeconds <= CUTOFF)
    .filter((t) => !confirmedOnly || t.deepEnough)
    .reduce((sum, t) => sum + t.amount, 0n);
}

/** Every step of a history with the facts that it was decided on. */
function walk(given: readonly CollectionFacts[]): {
  end: CollectionState;
  moves: { from: CollectionState; step: CollectionStep; facts: CollectionFacts }[];
} {
  let state = created;
  const moves: { from: CollectionState; step: CollectionStep; facts: CollectionFacts }[] = [];
  for (const each of given) {
    for (const step of settleCollection(terms, state, each)) {
      moves.push({ from: state, step, facts: each });
      state = step.next;
    }
  }
  return { end: state, moves };
}

describe('whatever happens', () => {
  const runs = { numRuns: 2_000 };

  test('settling is idempotent: the same facts again move nothing', () => {
    fc.assert(
      fc.property(anyHistory, anyFacts, (past, last) => {
        const { end } = walk([...past, last]);
        expect(decideCollection(terms, end, last)).toBeUndefined();
      }),
      runs,
    );
  });

  test('equal final facts end in the same state, whatever was seen before, in any order and number', () => {
    // SUCCESS is terminal, and EXPIRED is not left by a verified time that was put back: such pasts are left out.
    const past = anyHistory.map((all) => all.filter((f) => inTimeSum(f, true) < terms.acceptedAmount));
    fc.assert(
      fc.property(past, past, anyFacts, (one, other, last) => {
        const late = [...one, ...other].some((f) => f.verifiedTimeSeconds > CUTOFF);
        fc.pre(!late || last.verifiedTimeSeconds > CUTOFF);
        const a = walk([...one, last]).end;
        const b = walk([...other, ...other, last]).end;
        const { reason: reasonA, ...restA } = a;
        const { reason: reasonB, ...restB } = b;
        expect(restA).toEqual(restB);
        // the reason of an open order tells how it was reached
        if (a.status !== 'INIT' && a.status !== 'PENDING') expect(reasonA).toBe(reasonB);
      }),
      runs,
    );
  });

  test('the order of transfers in the facts means nothing', () => {
    fc.assert(
      fc.property(anyHistory, anyFacts, (past, last) => {
        const reversed = { ...last, transfers: last.transfers.toReversed() };
        expect(walk([...past, reversed]).end).toEqual(walk([...past, last]).end);
      }),
      runs,
    );
  });

  test('SUCCESS needs confirmed money that covers the order, and credits exactly that', () => {
    fc.assert(
      fc.property(anyHistory, (given) => {
        for (const { step, facts: seen } of walk(given).moves) {
          if (step.event !== 'confirmed') {
            expect(step.creditedTransferIds).toEqual([]);
            continue;
          }
          const credited = seen.transfers.filter((t) => step.creditedTransferIds.includes(t.transferId));
          const sum = credited.reduce((total, t) => total + t.amount, 0n);
          expect(step.next.actualAmount).toBe(sum);
          expect(sum).toBe(inTimeSum(seen, true));
          expect(sum).toBeGreaterThanOrEqual(terms.acceptedAmount);
        }
      }),
      runs,
    );
  });

  test('SUCCESS is terminal', () => {
    fc.assert(
      fc.property(anyHistory, (given) => {
        const { moves } = walk(given);
        const success = moves.findIndex(({ step }) => step.next.status === 'SUCCESS');
        expect(success === -1 || success === moves.length - 1).toBe(true);
      }),
      runs,
    );
  });

  test('nothing expires before the verified time passed the cutoff, nor when it is covered', () => {
    fc.assert(
      fc.property(anyHistory, (given) => {
        for (const { step, facts: seen } of walk(given).moves) {
          if (step.next.status !== 'EXPIRED' || step.event !== 'expired') continue;
          expect(seen.verifiedTimeSeconds).toBeGreaterThan(CUTOFF);
          expect(inTimeSum(seen, false)).toBeLessThan(terms.acceptedAmount);
        }
      }),
      runs,
    );
  });

  test('detectedAmount is what the chain shows, until the end', () => {
    fc.assert(
      fc.property(anyHistory, anyFacts, (past, last) => {
        const before = walk(past).end;
        fc.pre(before.status !== 'SUCCESS');
        expect(walk([...past, last]).end.detectedAmount).toBe(inTimeSum(last, false));
      }),
      runs,
    );
  });

  test('of what is not covered nobody is asked for the rest while something that was there is away', () => {
    fc.assert(
      fc.property(anyHistory, anyFacts, (past, last) => {
        const { end } = walk([...past, last]);
        fc.pre(end.status === 'PENDING');
        const away = last.transfers.some((t) => t.state === 'ORPHANED' && t.firstBlockTimeSeconds <= CUTOFF);
        if (away) expect(end.reason).toBe('Reorganised');
      }),
      runs,
    );
  });

  test('every change of status is told, but for the PENDING that a covering payment passes', () => {
    fc.assert(
      fc.property(anyHistory, (given) => {
        for (const { from, step } of walk(given).moves) {
          if (from.status === step.next.status || step.notify !== null) continue;
          expect([from.status, step.event]).toEqual(['INIT', 'partlyPaid']);
          expect(step.next.detectedAmount).toBeGreaterThanOrEqual(terms.acceptedAmount);
        }
      }),
      runs,
    );
  });
});
