import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import type { TransferState } from './confirmations.ts';
import { creditOrder, type LedgerEntry, type Receipt } from './ledger.ts';
import { baseUnits } from './money.ts';
import { COLLECTION_STATUSES } from './order-status.ts';
import { compareWithOrder, settleBooking, unmatchedReason, type TransferBooking } from './settle-transfer.ts';

const receipt: Receipt = {
  orderPk: 'order-1',
  merchantId: 'shop',
  chain: 'ETH',
  symbol: 'USDT',
  amount: baseUnits(70n),
};
const fresh: TransferBooking = { booked: null, bookings: 0, credited: false };
const booked = { symbol: 'USDT', amount: baseUnits(70n) };
const ordered = (state: TransferState) => ({ state, fit: 'ORDERED' }) as const;

/** By account kind. Fails if a liability changes its sign in between. */
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

describe('settleBooking', () => {
  test('books no transfer before its verification', () => {
    expect(settleBooking(7, receipt, ordered('DETECTED'), fresh)).toEqual({
      booking: fresh,
      entries: [],
      creditReverted: null,
      creditedAgain: false,
    });
  });

  test('books one entry under a natural key and none on repetition', () => {
    const first = settleBooking(7, receipt, ordered('VERIFIED'), fresh);
    expect(first.entries.map((e) => [e.ref, e.kind])).toEqual([['deposit:7:1', 'DEPOSIT']]);
    expect(post(first.entries)).toEqual({ DEPOSIT: 70n, SUSPENSE: -70n, MERCHANT: 0n });
    expect(settleBooking(7, receipt, ordered('VERIFIED'), first.booking).entries).toEqual([]);
  });

  test('reverses and restores a credited booking under new references', () => {
    const credited: TransferBooking = { booked, bookings: 1, credited: true };
    const reverted = settleBooking(7, receipt, ordered('ORPHANED'), credited);
    expect(reverted.creditReverted).toEqual({ ...booked, booking: 1 });
    expect(reverted.creditedAgain).toBe(false);
    expect(reverted.entries.map((e) => e.ref)).toEqual(['credit-reversed:7:1', 'deposit-reversed:7:1']);
    expect(settleBooking(7, receipt, ordered('ORPHANED'), reverted.booking).entries).toEqual([]);
    const again = settleBooking(7, receipt, ordered('VERIFIED'), reverted.booking);
    expect(again.creditReverted).toBeNull();
    expect(again.creditedAgain).toBe(true);
    expect(again.entries.map((e) => e.ref)).toEqual(['deposit:7:2', 'credit-again:7:2']);
  });

  test('reverses a booking with another amount as booked and books the new amount', () => {
    const credited: TransferBooking = { booked, bookings: 1, credited: true };
    const less = { ...receipt, amount: baseUnits(30n) };
    const settled = settleBooking(7, less, ordered('VERIFIED'), credited);
    expect(settled).toMatchObject({
      booking: { booked: { symbol: 'USDT', amount: 30n }, bookings: 2, credited: true },
      creditReverted: { booking: 1, amount: 70n },
      creditedAgain: true,
    });
    expect(settled.entries.map((e) => [e.ref, e.postings[0]?.amount])).toEqual([
      ['credit-reversed:7:1', 70n],
      ['deposit-reversed:7:1', 70n],
      ['deposit:7:2', 30n],
      ['credit-again:7:2', 30n],
    ]);
    expect(settleBooking(7, less, ordered('VERIFIED'), settled.booking).entries).toEqual([]);
  });

  test('removes the credit when the token changes', () => {
    const credited: TransferBooking = { booked, bookings: 1, credited: true };
    const other = { ...receipt, symbol: 'USDC' };
    const settled = settleBooking(7, other, { state: 'VERIFIED', fit: 'WRONG_TOKEN' }, credited);
    expect(settled.entries.map((e) => [e.ref, e.postings[0]?.account.symbol])).toEqual([
      ['credit-reversed:7:1', 'USDT'],
      ['deposit-reversed:7:1', 'USDT'],
      ['deposit:7:2', 'USDC'],
    ]);
    expect(settled).toMatchObject({ booking: { credited: false }, creditedAgain: false });
  });

  test('conserves money and uses no reference twice in any history', () => {
    const states = fc.array(
      fc.record({
        state: fc.constantFrom('DETECTED', 'VERIFIED', 'ORPHANED'),
        fit: fc.constantFrom('ORDERED', 'ORDERED', 'ORDERED', 'WRONG_TOKEN'),
        amount: fc.constantFrom(70n, 70n, 30n, 90n).map(baseUnits),
      }),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(states, fc.nat({ max: 12 }), (given, creditAt) => {
        let held = fresh;
        const entries: LedgerEntry[] = [];
        let credited = false;
        given.forEach(({ amount, ...now }, i) => {
          const settled = settleBooking(7, { ...receipt, amount }, now, held);
          held = settled.booking;
          entries.push(...settled.entries);
          if (i >= creditAt && held.booked !== null && now.fit === 'ORDERED' && !credited) {
            credited = true;
            held = { ...held, credited };
            entries.push(creditOrder(receipt.orderPk, [{ ...receipt, amount }]));
          }
        });
        const balances = post(entries);
        const last = given.at(-1);
        const stands = last?.state === 'VERIFIED' ? last.amount : 0n;
        expect(balances['DEPOSIT']).toBe(stands);
        expect(balances['MERCHANT']).toBe(held.credited ? 0n - stands : 0n);
        expect(Object.values(balances).reduce((a, b) => a + b, 0n)).toBe(0n);
        for (const entry of entries) expect(entry.postings.reduce((sum, p) => sum + p.amount, 0n)).toBe(0n);
        expect(new Set(entries.map((e) => e.ref)).size).toBe(entries.length);
      }),
      { numRuns: 700 },
    );
  });

  test('rejects an entry without an amount', () => {
    expect(() => creditOrder(receipt.orderPk, [{ ...receipt, amount: baseUnits(0n) }])).toThrow(RangeError);
  });

  test('assigns liabilities to the merchant and DEPOSIT to none', () => {
    const { entries } = settleBooking(7, receipt, ordered('VERIFIED'), fresh);
    expect(entries[0]?.postings.map((p) => [p.account.kind, p.account.merchantId])).toEqual([
      ['DEPOSIT', null],
      ['SUSPENSE', 'shop'],
    ]);
  });
});

test('matches a transfer by chain and contract, never by symbol', () => {
  const order = { chain: 'ETH', contractAddress: '0xaa' };
  expect(compareWithOrder([order], { chain: 'ETH', contractAddress: '0xaa' })).toBe('ORDERED');
  expect(compareWithOrder([order], { chain: 'ETH', contractAddress: '0xbb' })).toBe('WRONG_TOKEN');
  expect(compareWithOrder([order], { chain: 'ETH', contractAddress: null })).toBe('WRONG_TOKEN');
  expect(compareWithOrder([order], { chain: 'BSC', contractAddress: '0xaa' })).toBe('WRONG_CHAIN');
});

describe('unmatchedReason', () => {
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

  test('ignores an orphaned transfer', () => {
    for (const status of COLLECTION_STATUSES)
      expect(unmatchedReason(status, { ...base, state: 'ORPHANED' })).toBeNull();
  });
});
