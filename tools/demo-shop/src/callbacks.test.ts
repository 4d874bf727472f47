import { describe, expect, it } from 'vitest';
import type { Callback } from '@opentill/sdk/verify-callback';
import { createCallbackBook, nextOrderStatus } from './callbacks.ts';

const NOW = new Date('2026-01-02T03:04:05Z');

function callback(notifyType: string, data: object): Callback {
  return { notifyType, nonce: 'event-1', timestamp: NOW.getTime() / 1000, data } as Callback;
}

describe('createCallbackBook', () => {
  it('keeps a callback and counts its repetitions', () => {
    const book = createCallbackBook();
    const paid = callback('ORDER_SUCCESS', { orderId: 'shop-1', status: 'SUCCESS' });
    const kept = { verified: true, notifyType: 'ORDER_SUCCESS', nonce: 'event-1', orderId: 'shop-1' };
    expect(book.keep(paid, NOW)).toMatchObject({ ...kept, repeats: 0 });
    expect(book.keep(paid, NOW)).toMatchObject({ ...kept, repeats: 1 });
    expect(book.list()).toHaveLength(2);
  });

  it("keeps a sweep's callback without an order id", () => {
    const book = createCallbackBook();
    expect(book.keep(callback('COLLECT_SUCCESS', { collectAmount: '5.00' }), NOW).orderId).toBe('');
  });
});

describe('nextOrderStatus', () => {
  it.each([
    ['created', 'ORDER_PENDING', 0, 'ORDER_PENDING'],
    ['ORDER_PENDING_CONFIRMATION', 'ORDER_PENDING', 0, 'ORDER_PENDING'],
    ['ORDER_PENDING_CONFIRMATION', 'ORDER_PENDING', 1, 'ORDER_PENDING_CONFIRMATION'],
    ['ORDER_PENDING', 'ORDER_SUCCESS', 0, 'ORDER_SUCCESS'],
    ['ORDER_PENDING', 'ORDER_UNMATCHED', 0, 'ORDER_PENDING'],
    ['ORDER_SUCCESS', 'ORDER_PENDING', 0, 'ORDER_SUCCESS'],
    ['ORDER_SUCCESS', 'ORDER_EXPIRED', 0, 'ORDER_SUCCESS'],
    ['ORDER_FAILED', 'ORDER_SUCCESS', 0, 'ORDER_FAILED'],
    ['ORDER_EXPIRED', 'ORDER_PENDING', 0, 'ORDER_EXPIRED'],
    ['ORDER_EXPIRED', 'ORDER_SUCCESS', 0, 'ORDER_SUCCESS'],
  ])('changes %s by %s (repeat %i) to %s', (current, notifyType, repeats, next) => {
    expect(nextOrderStatus(current, { notifyType, repeats })).toBe(next);
  });
});
