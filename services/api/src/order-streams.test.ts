import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, vi, test } from 'vitest';
import { createOrderStreams, type StreamPlace } from './order-streams.ts';

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

function somebody() {
  const streams = createOrderStreams({
    store: { watchOrders: async () => [] },
    read: async () => undefined,
    observe: { streamsFailed: () => undefined },
    limits: { perOrder: 1, perClientAddress: 1, whole: 1 },
  });
  const client = aResponse();
  const key = { merchantId: 'shop', orderId: 'a' };
  const place = streams.enter(key, '203.0.113.1', client.response) as StreamPlace;
  return { streams, place, ...client };
}

test('a place is given back when the client goes before its stream has begun', () => {
  const { streams, place, made, written } = somebody();
  expect(streams.count()).toBe(1);
  made.emit('close');
  expect(streams.count()).toBe(0);
  place.begin(first);
  expect([streams.count(), written, made.writableEnded]).toEqual([0, [], true]);
});

test('a place is given back when its stream does not begin in time', () => {
  const { streams } = somebody();
  vi.advanceTimersByTime(29_999);
  expect(streams.count()).toBe(1);
  vi.advanceTimersByTime(1);
  expect(streams.count()).toBe(0);
});

test('a stream that has begun keeps its place until the response closes', () => {
  const { streams, place, made, written } = somebody();
  place.begin(first);
  vi.advanceTimersByTime(60_000);
  expect([streams.count(), written.at(-1)]).toEqual([1, 'event: order\ndata: {}\n\n']);
  made.emit('close');
  expect([streams.count(), vi.getTimerCount()]).toEqual([0, 0]);
});
