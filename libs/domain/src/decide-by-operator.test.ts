import { describe, expect, test } from 'vitest';
import { isCredited, sumTransfers, type TransferFact } from './collection-sums.ts';
import { baseUnits } from './money.ts';
import { COLLECTION_STATUSES } from './order-status.ts';
import {
  decideByOperator,
  settleCollection,
  type CollectionState,
  type CollectionTerms,
} from './settle-collection.ts';

const terms: CollectionTerms = { acceptedAmount: baseUnits(100n), cutoffSeconds: 1_000 };
const late: TransferFact = {
  transferId: 1,
  txHash: '0x1',
  amount: baseUnits(100n),
  state: 'VERIFIED',
  firstBlockTimeSeconds: 1_001,
  deepEnough: true,
};
const little: TransferFact = { ...late, transferId: 2, amount: baseUnits(40n), firstBlockTimeSeconds: 900 };
const open: CollectionState = {
  status: 'INIT',
  reason: null,
  detectedAmount: baseUnits(0n),
  actualAmount: null,
};
const accept = { decision: 'ACCEPT', reason: 'a regular customer' } as const;
const refuse = { decision: 'REFUSE', reason: 'Refused by operator' } as const;
const after = (...transfers: readonly TransferFact[]) => {
  const facts = {
    transfers,
    sums: sumTransfers(terms, transfers),
    verifiedTimeSeconds: 2_000,
    lateCallbackAllowed: true,
  };
  return { facts, state: settleCollection(terms, open, facts).at(-1)?.next ?? open };
};

describe('an operator’s acceptance', () => {
  test('credits all verified money that came late or was too little', () => {
    const { facts, state } = after(late, little, { ...late, transferId: 3, state: 'DETECTED' });
    expect(state).toMatchObject({ status: 'EXPIRED', reason: 'Paid after expiry' });
    const step = decideByOperator(state, facts, accept);
    expect(step).toEqual({
      event: 'accepted',
      next: { status: 'SUCCESS', reason: null, detectedAmount: 40n, actualAmount: 140n },
      notify: 'ORDER_SUCCESS',
      credits: 'ACCEPTED',
    });
    const credited = facts.transfers.filter((t) => isCredited(terms, step?.credits ?? null, t));
    expect(credited.map((t) => t.transferId)).toEqual([1, 2]);
  });

  test('accepts only an EXPIRED order that received money', () => {
    for (const transfers of [
      [],
      [{ ...late, state: 'ORPHANED' }],
      [{ ...late, state: 'DETECTED' }],
    ] as const) {
      const { facts, state } = after(...transfers);
      expect(decideByOperator(state, facts, accept)).toBeUndefined();
    }
    for (const status of COLLECTION_STATUSES.filter((one) => one !== 'EXPIRED'))
      expect(
        decideByOperator({ ...open, status }, { sums: sumTransfers(terms, [late]) }, accept),
      ).toBeUndefined();
  });
});

describe('an operator’s refusal', () => {
  test('fails every order except SUCCESS, with its reason and unchanged sums', () => {
    for (const status of COLLECTION_STATUSES) {
      const state = { ...open, status, detectedAmount: baseUnits(40n), actualAmount: baseUnits(40n) };
      const step = decideByOperator(state, { sums: sumTransfers(terms, [little]) }, refuse);
      if (status === 'SUCCESS' || status === 'FAILED') expect(step).toBeUndefined();
      else
        expect(step).toEqual({
          event: 'refused',
          next: { ...state, status: 'FAILED', reason: 'Refused by operator' },
          notify: 'ORDER_FAILED',
          credits: null,
        });
    }
  });

  test('keeps a refused order FAILED after later transfers', () => {
    const { facts, state } = after(little);
    const { next } = decideByOperator(state, facts, refuse) ?? { next: state };
    const sums = sumTransfers(terms, [{ ...late, firstBlockTimeSeconds: 900 }]);
    const paid = { sums, verifiedTimeSeconds: 3_000, lateCallbackAllowed: true };
    expect(settleCollection(terms, next, paid)).toEqual([]);
  });
});
