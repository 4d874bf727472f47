import { afterEach, beforeEach, describe, expect, vi, test } from 'vitest';
import { anOrder } from '../../test/support/an-order.ts';
import type { CheckoutOrder } from '../view/checkout-order.ts';
import { followOrder } from './follow-order.ts';
import type { OrderStream } from './keep-stream.ts';
import type { Asked } from './order-client.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const answered = <Data>(data: Data): Asked<Data> => ({ outcome: 'ANSWERED', data });

/** A server whose answers the test decides, and what a page has heard of it. */
function aPage(first: CheckoutOrder | null, { streams = true } = {}) {
  const asked: string[] = [];
  const told: CheckoutOrder[] = [];
  const reach: boolean[] = [];
  const refused: number[] = [];
  const opened: {
    listeners: Map<string, (event: { data?: unknown }) => void>;
    state: number;
    closed: boolean;
  }[] = [];
  const server = { order: first ?? anOrder(), answer: undefined as Asked<never> | undefined };
  const following = followOrder(
    {
      client: {
        eventsUrl: '/events',
        async pay() {
          asked.push('pay');
          return server.answer ?? answered(server.order);
        },
        async status() {
          asked.push('status');
          return server.answer ?? answered({ status: server.order.status });
        },
      },
      openStream: streams
        ? () => {
            const made = { listeners: new Map(), state: 0, closed: false };
            opened.push(made);
            const stream: OrderStream = {
              get readyState() {
                return made.state;
              },
              addEventListener: (name, listener) => void made.listeners.set(name, listener),
              close: () => void (made.closed = true),
            };
            return stream;
          }
        : undefined,
      isVisible: () => true,
      onOrder: (order) => told.push(order),
      onReachable: (reachable) => reach.push(reachable),
      onRefused: (status) => refused.push(status),
      random: () => 0.5,
    },
    first,
  );
  const say = (name: string, data?: unknown) =>
    opened.at(-1)!.listeners.get(name)!(data === undefined ? {} : { data: JSON.stringify(data) });
  return { asked, told, reach, refused, opened, server, following, say };
}
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe('without a stream', () => {
  test('asks for the status every three seconds, and for the order when that has changed', async () => {
    const { asked, told, server } = aPage(anOrder(), { streams: false });
    await pass(9_500);
    expect(asked).toEqual(['status', 'status', 'status']);
    server.order = anOrder({ status: 'PENDING', receivedAmount: '40.00', serverTime: 1_800_000_010 });
    await pass(3_000);
    expect(asked.slice(3)).toEqual(['status', 'pay']);
    expect(told.map(({ receivedAmount }) => receivedAmount)).toEqual(['40.00']);
    // From here on amounts and confirmations change while the status does not.
    await pass(3_000);
    expect(asked.slice(5)).toEqual(['pay']);
  });

  test('never asks more than twice a second of an endpoint, whatever happens', async () => {
    const { asked, server, following } = aPage(anOrder(), { streams: false });
    server.answer = { outcome: 'UNREACHABLE' };
    await pass(10_000);
    for (let i = 0; i < 3; i += 1) following.wake();
    await pass(100);
    expect(asked.length).toBeLessThan(12);
  });

  test('waits as long as a refusal says, and longer and longer while nothing answers', async () => {
    const { asked, reach, server } = aPage(anOrder(), { streams: false });
    server.answer = { outcome: 'SLOW_DOWN', waitMs: 20_000 };
    await pass(22_000);
    expect(asked).toHaveLength(1);
    server.answer = { outcome: 'UNREACHABLE' };
    await pass(120_000);
    expect(reach).toEqual([false]);
    expect(asked.length).toBeGreaterThan(5);
    expect(asked.length).toBeLessThan(12);
    server.answer = undefined;
    await pass(30_000);
    expect(reach).toEqual([false, true]);
  });

  test('ends when the order is settled, and with a link that is refused', async () => {
    const settled = aPage(anOrder(), { streams: false });
    settled.server.order = anOrder({ status: 'SUCCESS' });
    await pass(4_000);
    const before = settled.asked.length;
    await pass(600_000);
    expect([settled.asked.length, settled.told.length]).toEqual([before, 1]);
    const refused = aPage(null, { streams: false });
    refused.server.answer = { outcome: 'REFUSED', httpStatus: 404 };
    await pass(600_000);
    expect([refused.asked, refused.refused]).toEqual([['pay'], [404]]);
  });

  test('keeps an order that was shown, although it is refused later', async () => {
    const { asked, reach, refused, server, told } = aPage(anOrder(), { streams: false });
    server.answer = { outcome: 'REFUSED', httpStatus: 404 };
    await pass(20_000);
    expect([reach, refused]).toEqual([[false], []]);
    expect(asked.length).toBeGreaterThan(1);
    server.answer = undefined;
    server.order = anOrder({ status: 'PENDING', serverTime: 1_800_000_030 });
    await pass(31_000);
    expect(reach).toEqual([false, true]);
    expect(told.at(-1)?.status).toBe('PENDING');
  });

  test('believes what it is answered, also of a server whose clock is behind, or was put back', async () => {
    const { told, server, following } = aPage(anOrder({ serverTime: 1_800_000_300 }), { streams: false });
    server.order = anOrder({ status: 'PENDING', receivedAmount: '40.00', serverTime: 1_800_000_000 });
    expect(await following.refresh()).toBe(server.order);
    server.order = anOrder({ status: 'SUCCESS', serverTime: 1_799_999_990 });
    await pass(3_500);
    expect(told.map(({ status }) => status)).toEqual(['PENDING', 'SUCCESS']);
  });

  test('goes on slowly with an order that expired: it may be paid late', async () => {
    const { asked, server, told } = aPage(anOrder({ status: 'EXPIRED' }), { streams: false });
    await pass(3_500 + 30_000);
    expect(asked).toEqual(['pay', 'pay', 'pay']);
    server.order = anOrder({ status: 'EXPIRED', reason: 'Paid after expiry' });
    await pass(15_000);
    expect(told.at(-1)?.reason).toBe('Paid after expiry');
  });
});

describe('with a stream', () => {
  test('does not poll while it speaks', async () => {
    const { asked, told, say } = aPage(anOrder());
    say('order', anOrder({ status: 'PENDING' }));
    for (let i = 0; i < 10; i += 1) {
      await pass(15_000);
      say('ping');
    }
    expect([asked, told.length]).toEqual([[], 1]);
  });

  test('polls until it speaks, and as soon as it breaks', async () => {
    const page = aPage(anOrder());
    await pass(3_500);
    expect(page.asked).toEqual(['status']);
    page.say('order', anOrder());
    await pass(30_000);
    expect(page.asked).toHaveLength(1);
    page.opened[0]!.state = 0; // connecting again
    page.say('error');
    await pass(10);
    expect(page.asked).toHaveLength(2);
    expect(page.opened).toHaveLength(1);
  });

  test('opens it again after a refusal, and after silence', async () => {
    const page = aPage(anOrder());
    page.opened[0]!.state = 2; // 429 or 503
    page.say('error');
    await pass(31_000);
    expect(page.opened).toHaveLength(2);
    page.say('ping');
    await pass(41_000);
    expect(page.opened[1]!.closed).toBe(true);
    const polls = page.asked.length;
    await pass(4_000);
    expect(page.asked.length).toBeGreaterThan(polls);
    await pass(30_000);
    expect(page.opened).toHaveLength(3);
  });

  test('asks when it may say what is older than what is shown, or come from a clock that is behind', async () => {
    const { asked, told, say, server } = aPage(anOrder());
    say('order', anOrder({ serverTime: 1_800_000_020 }));
    server.order = anOrder({ reason: 'Reorganised', serverTime: 1_800_000_011 });
    server.answer = { outcome: 'UNREACHABLE' };
    say('order', { ...server.order, serverTime: 1_800_000_010 });
    say('order', { ...server.order, serverTime: 1_800_000_010 });
    say('ping');
    await pass(1_500);
    expect([asked, told.length]).toEqual([['pay'], 1]);
    server.answer = undefined;
    await pass(2_000);
    expect(told.slice(1)).toEqual([server.order]);
    // From here on the clock is the one that is behind.
    say('order', anOrder({ status: 'PENDING', serverTime: 1_800_000_012 }));
    await pass(30_000);
    expect([asked, told.at(-1)?.status]).toEqual([['pay', 'pay'], 'PENDING']);
  });

  test('has the page ask again where it spoke between a question and its answer', async () => {
    const { asked, told, say, server, following } = aPage(anOrder());
    const refreshed = following.refresh(); // answered with INIT, of the same second
    server.order = anOrder({ status: 'PENDING' });
    say('order', server.order);
    expect(await refreshed).toBe(server.order);
    expect([asked, told.map(({ status }) => status)]).toEqual([
      ['pay', 'pay'],
      ['PENDING', 'PENDING'],
    ]);
  });

  test('has the page ask no more once it has told the end', async () => {
    const { asked, say, following } = aPage(anOrder());
    const refreshed = following.refresh();
    say('order', anOrder({ status: 'SUCCESS' }));
    expect((await refreshed)?.status).toBe('SUCCESS');
    expect(asked).toEqual(['pay']);
  });

  test('closes it when the order is settled', async () => {
    const { opened, say, asked } = aPage(anOrder());
    say('order', anOrder({ status: 'SUCCESS' }));
    await pass(600_000);
    expect([opened[0]!.closed, opened.length, asked]).toEqual([true, 1, []]);
  });
});

describe('after time has jumped', () => {
  test('asks for the whole order at once, also while the stream seems to speak, and opens another stream', async () => {
    const { asked, told, opened, say, following } = aPage(anOrder());
    say('order', anOrder({ serverTime: 1_800_000_001 }));
    following.doubt();
    await pass(10);
    expect([asked, told.length]).toEqual([['pay'], 2]);
    expect(opened.map(({ closed }) => closed)).toEqual([true, false]);
  });

  test('takes neither what was asked before, nor what the old stream has still to say', async () => {
    const page = aPage(anOrder());
    const old = page.opened[0]!;
    const refreshed = page.following.refresh();
    page.following.doubt();
    old.listeners.get('order')!({ data: JSON.stringify(anOrder({ status: 'PENDING' })) });
    expect([await refreshed, page.told]).toEqual([undefined, []]);
    await pass(10);
    expect(page.told).toHaveLength(1);
  });

  test('goes on asking for the whole order until it is answered', async () => {
    const { asked, told, server, following } = aPage(anOrder(), { streams: false });
    server.answer = { outcome: 'UNREACHABLE' };
    following.doubt();
    await pass(5_000);
    expect(new Set(asked)).toEqual(new Set(['pay']));
    server.answer = undefined;
    await pass(10_000);
    expect(told).toHaveLength(1);
    const whole = asked.length;
    await pass(3_000);
    expect(asked.slice(whole)).toEqual(['status']);
  });

  test('a settled order is in no doubt', async () => {
    const { asked, opened, say, following } = aPage(anOrder());
    say('order', anOrder({ status: 'SUCCESS' }));
    following.doubt();
    await pass(60_000);
    expect([asked, opened.length]).toEqual([[], 1]);
  });

  test('who looks again hears the newest, although the stream seems to speak', async () => {
    const { asked, say, following } = aPage(anOrder());
    say('ping');
    following.wake();
    await pass(10_000);
    expect(asked).toEqual(['status']);
  });
});
