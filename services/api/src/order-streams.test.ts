import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, vi, test } from 'vitest';
import { createOrderStreams, type StreamSlot } from './order-streams.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const first = { data: '{}', settled: false, fingerprint: undefined };

function aResponse() {
  const written: string[] = [];
  const made = Object.assign(new EventEmitter(), {
    destroyed: false,
    writableEnded: false,
    writableLength: 0,
    write: (text: string) => void written.push(text),
    end: () => void (made.writableEnded = true),
  });
  return { made, written, response: made as unknown as ServerResponse };
}

function reserveSlot() {
  const streams = createOrderStreams({
    store: { watchOrders: async () => [] },
    read: async () => undefined,
    observe: { streamsFailed: () => undefined },
    limits: { perOrder: 1, perClientAddress: 1, whole: 1 },
  });
  const client = aResponse();
  const key = { merchantId: 'shop', orderId: 'a' };
  const slot = streams.enter(key, '203.0.113.1', client.response) as StreamSlot;
  return { streams, slot, ...client };
}

test('releases the slot when the client disconnects before its stream begins', () => {
  const { streams, slot, made, written } = reserveSlot();
  expect(streams.count()).toBe(1);
  made.emit('close');
  expect(streams.count()).toBe(0);
  slot.begin(first);
  expect([streams.count(), written, made.writableEnded]).toEqual([0, [], true]);
});

test('releases the slot when its stream does not begin in time', () => {
  const { streams } = reserveSlot();
  vi.advanceTimersByTime(29_999);
  expect(streams.count()).toBe(1);
  vi.advanceTimersByTime(1);
  expect(streams.count()).toBe(0);
});

test('keeps the slot of a running stream until the response closes', () => {
  const { streams, slot, made, written } = reserveSlot();
  slot.begin(first);
  vi.advanceTimersByTime(60_000);
  expect([streams.count(), written.at(-1)]).toEqual([1, 'event: order\ndata: {}\n\n']);
  made.emit('close');
  expect([streams.count(), vi.getTimerCount()]).toEqual([0, 0]);
});

test('refuses new streams while the process stops', async () => {
  const { streams, made } = reserveSlot();
  made.emit('close');
  await streams.stop();
  const key = { merchantId: 'shop', orderId: 'a' };
  expect(streams.enter(key, '203.0.113.1', aResponse().response)).toBe('FULL');
});
