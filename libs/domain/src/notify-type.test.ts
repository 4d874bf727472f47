import { expect, test } from 'vitest';
import { notifyTypeOf } from './notify-type.ts';
import { COLLECTION_STATUSES } from './order-status.ts';

test('has a callback type for every status', () => {
  expect(Object.fromEntries(COLLECTION_STATUSES.map((s) => [s, notifyTypeOf(s)]))).toEqual({
    INIT: 'ORDER_PENDING',
    PENDING: 'ORDER_PENDING',
    PENDING_CONFIRMATION: 'ORDER_PENDING_CONFIRMATION',
    SUCCESS: 'ORDER_SUCCESS',
    EXPIRED: 'ORDER_EXPIRED',
    FAILED: 'ORDER_FAILED',
  });
});
