import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { createCallbackBook, nextOrderStatus } from './callbacks.ts';

const SECRET = 'secret of the shop';
const NOW = new Date('2026-01-02T03:04:05Z');
const NOW_SECONDS = NOW.getTime() / 1000;
const DATA = '{"amount":"9.00","orderId":"shop-1","status":"SUCCESS"}';
const signOf = (data: string, secret = SECRET) => createHmac('sha256', secret).update(data).digest('hex');

function body({
  sign = signOf(DATA),
  timestamp = NOW_SECONDS as unknown,
  nonce = 'event-1',
  data = DATA,
} = {}) {
  const head = JSON.stringify({ sign, timestamp, nonce, notifyType: 'ORDER_SUCCESS' });
  return Buffer.from(`${head.slice(0, -1)},"data":${data}}`);
}

const PENDING = { data: '{"orderId":"shop-1","status":"PENDING"}', sign: '' };
PENDING.sign = signOf(PENDING.data);

describe('a callback', () => {
  it('that is genuine is kept, and counted again when it comes again', () => {
    const book = createCallbackBook(SECRET);
    const kept = { verified: true, notifyType: 'ORDER_SUCCESS', nonce: 'event-1', orderId: 'shop-1' };
    expect(book.receive(body(), NOW)).toMatchObject({ ...kept, repeats: 0 });
    expect(book.receive(body(), NOW)).toMatchObject({ ...kept, repeats: 1 });
    expect(book.list()).toHaveLength(2);
  });

  it.each([
    ['of another secret', { sign: signOf(DATA, 'another') }],
    ['of other data', { data: DATA.replace('9.00', '0.01') }],
    ['whose type its data do not bear out', PENDING],
    ['without signature', { sign: '' }],
    ['whose signature is no hex', { sign: 'zz' }],
    ['of five minutes ago', { timestamp: NOW_SECONDS - 301 }],
    ['of the future', { timestamp: NOW_SECONDS + 301 }],
  ])('%s is refused, and leaves no trace', (_what, change) => {
    const book = createCallbackBook(SECRET);
    expect(book.receive(body(change), NOW)).toBe('NOT_GENUINE');
    expect(book.list()).toEqual([]);
    expect(book.receive(body(), NOW)).toMatchObject({ repeats: 0 });
  });

  it.each([['{'], ['null'], ['{"sign":"x"}'], [body({ timestamp: '5' }).toString()]])(
    'is none: %s',
    (text) => {
      const book = createCallbackBook(SECRET);
      expect(book.receive(Buffer.from(text), NOW)).toBe('NOT_A_CALLBACK');
    },
  );
});

describe('the order of a callback', () => {
  it.each([
    ['created', 'ORDER_PENDING', 0, 'ORDER_PENDING'],
    ['ORDER_PENDING_CONFIRMATION', 'ORDER_PENDING', 0, 'ORDER_PENDING'],
    ['ORDER_PENDING_CONFIRMATION', 'ORDER_PENDING', 1, 'ORDER_PENDING_CONFIRMATION'],
    ['ORDER_PENDING', 'ORDER_SUCCESS', 0, 'ORDER_SUCCESS'],
    ['ORDER_SUCCESS', 'ORDER_PENDING', 0, 'ORDER_SUCCESS'],
    ['ORDER_SUCCESS', 'ORDER_EXPIRED', 0, 'ORDER_SUCCESS'],
    ['ORDER_FAILED', 'ORDER_SUCCESS', 0, 'ORDER_FAILED'],
    ['ORDER_EXPIRED', 'ORDER_PENDING', 0, 'ORDER_EXPIRED'],
    ['ORDER_EXPIRED', 'ORDER_SUCCESS', 0, 'ORDER_SUCCESS'],
  ])('%s, told %s (repeat %i), is %s', (current, notifyType, repeats, next) => {
    expect(nextOrderStatus(current, { notifyType, repeats })).toBe(next);
  });
});
