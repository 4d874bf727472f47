import { describe, expect, test } from 'vitest';
import {
  matchForgotten,
  type DoubtfulPayout,
  type ForgottenPayment,
  type KnownNonce,
  type Payment,
} from './match-forgotten.ts';

const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 12, minute));
const pays = (to = '0xa', amount = 5n, contract: string | null = '0xt'): Payment => ({
  contract,
  to,
  amount,
});
const payment = (nonce: number, what: ForgottenPayment['pays'] = pays(), minute = 10): ForgottenPayment => ({
  txHash: `tx${nonce}`,
  nonce,
  pays: what,
  blockTime: at(minute),
});
const payout = (orderPk: string, what = pays(), from = 0, to: number | null = 30): DoubtfulPayout => ({
  orderPk,
  pays: what,
  requestedAt: at(from),
  expiresAt: to === null ? null : at(to),
});
const signed = (nonce: number, orderPk: string, what = pays()): KnownNonce => ({
  nonce,
  signed: { orderPk, pays: what },
});
const found = (...matches: [string, string | null][]) =>
  matches.map(([txHash, orderPk]) => ({ txHash, orderPk }));

describe('whose a forgotten transaction is', () => {
  test('of a nonce that was signed: that payout’s when it pays just that, else nobody’s', () => {
    expect(matchForgotten([payment(3)], [signed(3, 'p')], [])).toEqual(found(['tx3', 'p']));
    for (const other of [pays('0xb'), pays('0xa', 6n), pays('0xa', 5n, null), null, undefined])
      expect(matchForgotten([{ ...payment(3), pays: other }], [signed(3, 'p')], [payout('q')])).toEqual([]);
  });

  test('of a nonce that was signed for a cancel: that one when it moves nothing', () => {
    const cancel: KnownNonce = { nonce: 3, signed: 'CANCEL' };
    expect(matchForgotten([payment(3, null)], [cancel], [])).toEqual(found(['tx3', null]));
    expect(matchForgotten([payment(3)], [cancel], [payout('q')])).toEqual([]);
  });

  test('of a nonce that nobody had: what moves nothing is a cancel; what pays is the oldest such payout’s', () => {
    const doubtful = [payout('late', pays(), 5), payout('early', pays(), 1), payout('other', pays('0xb'))];
    expect(
      matchForgotten([payment(7), payment(5, null), payment(6)], [{ nonce: 6, signed: undefined }], doubtful),
    ).toEqual(found(['tx5', null], ['tx6', 'early'], ['tx7', 'late']));
  });

  test('one payout is settled by one transaction; the next like it is for the operator', () => {
    expect(matchForgotten([payment(5), payment(6)], [], [payout('p')])).toEqual(found(['tx5', 'p']));
  });

  test('a payout that was over, or not yet asked for, when it was mined did not have it; one that waited for approval may', () => {
    expect(matchForgotten([payment(5, pays(), 31)], [], [payout('p')])).toEqual([]);
    expect(matchForgotten([payment(5, pays(), 10)], [], [payout('p', pays(), 20)])).toEqual([]);
    expect(matchForgotten([payment(5, pays(), 50)], [], [payout('p', pays(), 0, null)])).toEqual(
      found(['tx5', 'p']),
    );
  });

  test('what this gateway does not sign is never recognised', () => {
    expect(matchForgotten([{ ...payment(5), pays: undefined }], [], [payout('p')])).toEqual([]);
  });
});
