import { describe, expect, test } from 'vitest';
import {
  matchTransactions,
  type DoubtfulPayout,
  type UnknownTransaction,
  type KnownNonce,
  type Payment,
} from './match-transactions.ts';

const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 12, minute));
const pays = (to = '0xa', amount = 5n, contract: string | null = '0xt'): Payment => ({
  contract,
  to,
  amount,
});
const payment = (
  nonce: number,
  what: UnknownTransaction['pays'] = pays(),
  minute = 10,
): UnknownTransaction => ({
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

describe('matchTransactions', () => {
  test('matches a signed nonce only to a payment equal to the one signed with it', () => {
    expect(matchTransactions([payment(3)], [signed(3, 'p')], [])).toEqual(found(['tx3', 'p']));
    for (const other of [pays('0xb'), pays('0xa', 6n), pays('0xa', 5n, null), null, undefined])
      expect(matchTransactions([{ ...payment(3), pays: other }], [signed(3, 'p')], [payout('q')])).toEqual(
        [],
      );
  });

  test('matches the nonce of a cancel only to a transaction that moves no money', () => {
    const cancel: KnownNonce = { nonce: 3, signed: 'CANCEL' };
    expect(matchTransactions([payment(3, null)], [cancel], [])).toEqual(found(['tx3', null]));
    expect(matchTransactions([payment(3)], [cancel], [payout('q')])).toEqual([]);
  });

  test('matches an unused nonce to a cancel or to the oldest equal payout', () => {
    const doubtful = [payout('late', pays(), 5), payout('early', pays(), 1), payout('other', pays('0xb'))];
    expect(
      matchTransactions(
        [payment(7), payment(5, null), payment(6)],
        [{ nonce: 6, signed: undefined }],
        doubtful,
      ),
    ).toEqual(found(['tx5', null], ['tx6', 'early'], ['tx7', 'late']));
  });

  test('settles a payout by one transaction and leaves the next equal one open', () => {
    expect(matchTransactions([payment(5), payment(6)], [], [payout('p')])).toEqual(found(['tx5', 'p']));
  });

  test('matches only payouts that were open at the block time', () => {
    expect(matchTransactions([payment(5, pays(), 31)], [], [payout('p')])).toEqual([]);
    expect(matchTransactions([payment(5, pays(), 10)], [], [payout('p', pays(), 20)])).toEqual([]);
    expect(matchTransactions([payment(5, pays(), 50)], [], [payout('p', pays(), 0, null)])).toEqual(
      found(['tx5', 'p']),
    );
  });

  test('never matches a transaction that the gateway does not sign', () => {
    expect(matchTransactions([{ ...payment(5), pays: undefined }], [], [payout('p')])).toEqual([]);
  });
});
