import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { creditOrder, type LedgerEntry, type Receipt } from './ledger.ts';
import { baseUnits } from './money.ts';
import { COLLECTION_STATUSES } from './order-status.ts';
import { fitOf, settleBooking, unmatchedReason, type TransferBooking } from './settle-transfer.ts';

const receipt: Receipt = {
  orderPk: 'order-1',
  merchantId: 'shop',
  chain: 'ETH',
  symbol: 'USDT',
  amount: baseUnits(70n),
};
const fresh: TransferBooking = { booked: false, bookings: 0, credited: false };

/** Balances by account kind; fails where a liability would turn round on the way. */
function post(entries: readonly LedgerEntry[]): Record<string, bigint> {
  const balances: Record<string, bigint> = { DEPOSIT: 0n, SUSPENSE: 0n, MERCHANT: 0n };
  for (const { account, amount } of entries.flatMap((e) => e.postings)) {
    balances[account.kind] = (balances[account.kind] ?? 0n) + amount;
    expect(balances['DEPOSIT']).toBeGreaterThanOrEqual(0n);
    expect(balances['SUSPENSE']).toBeLessThanOrEqual(0n);
    expect(balances['MERCHANT']).toBeLessThanOrEqual(0n);
  }
  return balances;
}

describe('the booking of a transfer', () => {
  test('waits for verification', () => {
    expect(settleBooking(7, receipt, 'DETECTED', fresh)).toEqual({
      booking: fresh,
      entries: [],
      creditReverted: false,
    });
  });

  test('is one entry under a natural key, and nothing the second time', () => {
    const first = settleBooking(7, receipt, 'VERIFIED', fresh);
    expect(first.entries.map((e) => [e.ref, e.kind])).toEqual([['deposit:7:1', 'DEPOSIT']]);
    expect(post(first.entries)).toEqual({ DEPOSIT: 70n, SUSPENSE: -70n, MERCHANT: 0n });
    expect(settleBooking(7, receipt, 'VERIFIED', first.booking).entries).toEqual([]);
  });

  test('of a credited one is taken back with its credit, and comes back with it under new references', () => {
    const credited: TransferBooking = { booked: true, bookings: 1, credited: true };
    const reverted = settleBooking(7, receipt, 'ORPHANED', credited);
    expect(reverted.creditReverted).toBe(true);
    expect(reverted.entries.map((e) => e.ref)).toEqual(['credit-reversed:7:1', 'deposit-reversed:7:1']);
    expect(settleBooking(7, receipt, 'ORPHANED', reverted.booking).entries).toEqual([]);
    const again = settleBooking(7, receipt, 'VERIFIED', reverted.booking);
    expect(again.creditReverted).toBe(false);
    expect(again.entries.map((e) => e.ref)).toEqual(['deposit:7:2', 'credit-again:7:2']);
  });

  test('follows the chain through any history: money is conserved, no reference twice', () => {
    const states = fc.array(fc.constantFrom('DETECTED', 'VERIFIED', 'ORPHANED'), { maxLength: 12 });
    fc.assert(
      fc.property(states, fc.nat({ max: 12 }), (given, creditAt) => {
        let held = fresh;
        const entries: LedgerEntry[] = [];
        let credited = false;
        given.forEach((state, i) => {
          const settled = settleBooking(7, receipt, state, held);
          held = settled.booking;
          entries.push(...settled.entries);
          if (i >= creditAt && held.booked && !credited) {
            credited = true;
            held = { ...held, credited };
            entries.push(creditOrder(receipt));
          }
        });
        const balances = post(entries);
        const verified = given.at(-1) === 'VERIFIED';
        expect(balances['DEPOSIT']).toBe(verified ? 70n : 0n);
        expect(balances['MERCHANT']).toBe(verified && credited ? -70n : 0n);
        expect(Object.values(balances).reduce((a, b) => a + b, 0n)).toBe(0n);
        for (const entry of entries) expect(entry.postings.reduce((sum, p) => sum + p.amount, 0n)).toBe(0n);
        expect(new Set(entries.map((e) => e.ref)).size).toBe(entries.length);
      }),
      { numRuns: 2_000 },
    );
  });

  test('nothing is never posted', () => {
    expect(() => creditOrder({ ...receipt, amount: baseUnits(0n) })).toThrow(RangeError);
  });

  test('DEPOSIT belongs to all, the liabilities to the merchant', () => {
    const { entries } = settleBooking(7, receipt, 'VERIFIED', fresh);
    expect(entries[0]?.postings.map((p) => [p.account.kind, p.account.merchantId])).toEqual([
      ['DEPOSIT', null],
      ['SUSPENSE', 'shop'],
    ]);
  });
});

test('a transfer fits by chain and contract, never by symbol', () => {
  const order = { chain: 'ETH', contractAddress: '0xaa' };
  expect(fitOf(order, { chain: 'ETH', contractAddress: '0xaa' })).toBe('ORDERED');
  expect(fitOf(order, { chain: 'ETH', contractAddress: '0xbb' })).toBe('WRONG_TOKEN');
  expect(fitOf(order, { chain: 'ETH', contractAddress: null })).toBe('WRONG_TOKEN');
  expect(fitOf(order, { chain: 'BSC', contractAddress: '0xaa' })).toBe('WRONG_CHAIN');
});

describe('what lies unmatched', () => {
  const base = { fit: 'ORDERED', state: 'VERIFIED', inTime: true, credited: false } as const;

  test.each([
    ['INIT', base, null],
    ['PENDING', base, null],
    ['PENDING', { ...base, inTime: false }, null],
    ['PENDING_CONFIRMATION', base, null],
    ['SUCCESS', base, 'AFTER_SUCCESS'],
    ['SUCCESS', { ...base, credited: true }, null],
    ['EXPIRED', base, 'UNDERPAID'],
    ['EXPIRED', { ...base, inTime: false }, 'LATE'],
    ['FAILED', base, 'ORDER_FAILED'],
    ['INIT', { ...base, fit: 'WRONG_TOKEN' }, 'WRONG_TOKEN'],
    ['SUCCESS', { ...base, fit: 'WRONG_CHAIN' }, 'WRONG_CHAIN'],
  ] as const)('%s %j: %s', (status, transfer, reason) => {
    expect(unmatchedReason(status, transfer)).toBe(reason);
  });

  test('never what is gone', () => {
    for (const status of COLLECTION_STATUSES)
      expect(unmatchedReason(status, { ...base, state: 'ORPHANED' })).toBeNull();
  });
});
