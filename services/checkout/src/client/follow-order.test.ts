import { afterEach, beforeEach, describe, expect, vi, test } from 'vitest';
import { anOpenOrder, anOrder, anUnmatched, USDC } from '../../test/support/an-order.ts';
import type { CheckoutOrder } from '../view/checkout-order.ts';
import { followOrder } from './follow-order.ts';
import type { OrderStream } from './order-stream.ts';
import type { ApiResult } from './order-client.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const answered = <Data>(data: Data): ApiResult<Data> => ({ outcome: 'ANSWERED', data });

function aPage(first: CheckoutOrder | null, { streams = true } = {}) {
  const asked: string[] = [];
  const shown: CheckoutOrder[] = [];
  const reach: boolean[] = [];
  const refused: number[] = [];
  const opened: {
    listeners: Map<string, (event: { data?: unknown }) => void>;
    state: number;
    closed: boolean;
  }[] = [];
  const server = { order: first ?? anOrder(), answer: undefined as ApiResult<never> | undefined };
  const view = { isVisible: true };
  const following = followOrder(
    {
      client: {
        eventsUrl: '/events',
        async pay() {
          asked.push('pay');
          return server.answer ?? answered(server.order);
        },
        async choose({ chain, symbol }) {
          asked.push(`choose ${symbol} on ${chain}`);
          return server.answer ?? answered(server.order);
        },
        async status() {
          asked.push('status');
          const { status, unmatched } = server.order;
          return server.answer ?? answered(unmatched === undefined ? { status } : { status, unmatched });
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
      isVisible: () => view.isVisible,
      onOrder: (order) => shown.push(order),
      onReachable: (reachable) => reach.push(reachable),
      onRefused: (status) => refused.push(status),
      random: () => 0.5,
    },
    first,
  );
  const say = (name: string, data?: unknown) =>
    opened.at(-1)!.listeners.get(name)!(data === undefined ? {} : { data: JSON.stringify(data) });
  return { asked, shown, reach, refused, opened, server, view, following, say };
}
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe('followOrder without a stream', () => {
  test('polls the status every three seconds, and the order after a change', async () => {
    const { asked, shown, server } = aPage(anOrder(), { streams: false });
    await pass(9_500);
    expect(asked).toEqual(['status', 'status', 'status']);
    server.order = anOrder({ status: 'PENDING', receivedAmount: '40.00', serverTime: 1_800_000_010 });
    await pass(3_000);
    expect(asked.slice(3)).toEqual(['status', 'pay']);
    expect(shown.map(({ receivedAmount }) => receivedAmount)).toEqual(['40.00']);
    await pass(3_000);
    expect(asked.slice(5)).toEqual(['pay']);
  });

  test('reads the order when a payment arrived that does not count', async () => {
    const { asked, shown, server } = aPage(anOrder(), { streams: false });
    server.order = anOrder({ unmatched: [anUnmatched()] });
    await pass(6_500);
    expect(asked).toEqual(['status', 'pay', 'status']);
    expect(shown).toEqual([server.order]);
  });

  test('notices a payment that does not count when the list is full', async () => {
    const full = Array.from({ length: 20 }, (_, at) => anUnmatched({ txid: `0x${at}` }));
    const { asked, server } = aPage(anOrder({ unmatched: full }), { streams: false });
    await pass(3_500);
    server.order = anOrder({ unmatched: [anUnmatched({ txid: '0xnew' }), ...full.slice(0, -1)] });
    await pass(3_000);
    expect(asked).toEqual(['status', 'status', 'pay']);
  });

  test("reads the whole order of several coins to see another tab's choice", async () => {
    const { asked, shown, server } = aPage(anOpenOrder(), { streams: false });
    await pass(3_500);
    server.order = anOpenOrder({ address: '0x1' });
    await pass(3_000);
    expect(asked).toEqual(['pay', 'pay']);
    expect(shown.at(-1)?.address).toBe('0x1');
  });

  test('shows the chosen coin, and drops an answer to an earlier request', async () => {
    const { shown, server, following } = aPage(anOpenOrder(), { streams: false });
    const before = following.refresh();
    server.order = anOpenOrder({ address: '0x1' });
    expect(await following.choose(USDC)).toBe('ANSWERED');
    await before;
    expect(shown.at(-1)?.address).toBe('0x1');
    server.answer = { outcome: 'SLOW_DOWN', waitMs: 1 };
    expect(await following.choose(USDC)).toBe('SLOW_DOWN');
    expect(shown.at(-1)?.address).toBe('0x1');
  });

  test('never polls an endpoint more than twice a second', async () => {
    const { asked, server, following } = aPage(anOrder(), { streams: false });
    server.answer = { outcome: 'UNREACHABLE' };
    await pass(10_000);
    for (let i = 0; i < 3; i += 1) following.wake();
    await pass(100);
    expect(asked.length).toBeLessThan(12);
  });

  test('waits as long as a 429 asks, and backs off while the API is unreachable', async () => {
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

  test.each(['SUCCESS', 'FAILED'] as const)('notices a payment after %s without a reload', async (status) => {
    const { asked, shown, server } = aPage(anOrder(), { streams: false });
    server.order = anOrder({ status });
    await pass(4_000);
    expect(asked).toEqual(['status', 'pay']);
    server.order = anOrder({ status, unmatched: [anUnmatched()] });
    await pass(15_000);
    expect([asked.slice(2), shown.at(-1)]).toEqual([['status', 'pay'], server.order]);
  });

  test('polls a final order for 30 minutes, and then when the page becomes visible', async () => {
    const { asked, shown, following } = aPage(anOrder({ status: 'SUCCESS' }), { streams: false });
    await pass(14_000);
    expect(asked).toEqual([]);
    await pass(3_600_000);
    expect([asked.length, new Set(asked)]).toEqual([120, new Set(['status'])]);
    following.wake();
    await pass(600_000);
    expect([asked.length, shown]).toEqual([121, []]);
  });

  test('polls a final order only while the page is visible', async () => {
    const { asked, view, following } = aPage(anOrder({ status: 'SUCCESS' }), { streams: false });
    view.isVisible = false;
    await pass(600_000);
    expect(asked).toHaveLength(1);
    view.isVisible = true;
    following.wake();
    await pass(31_000);
    expect(asked).toHaveLength(4);
  });

  test('does not report a lost connection to the payer of a final order', async () => {
    const { asked, reach, server } = aPage(anOrder({ status: 'SUCCESS' }), { streams: false });
    server.answer = { outcome: 'UNREACHABLE' };
    await pass(60_000);
    expect([asked.length > 1, reach]).toEqual([true, []]);
  });

  test('stops when its link is rejected', async () => {
    const refused = aPage(null, { streams: false });
    refused.server.answer = { outcome: 'REFUSED', httpStatus: 404 };
    await pass(600_000);
    expect([refused.asked, refused.refused]).toEqual([['pay'], [404]]);
  });

  test('keeps an order that was shown when a later request is rejected', async () => {
    const { asked, reach, refused, server, shown } = aPage(anOrder(), { streams: false });
    server.answer = { outcome: 'REFUSED', httpStatus: 404 };
    await pass(20_000);
    expect([reach, refused]).toEqual([[false], []]);
    expect(asked.length).toBeGreaterThan(1);
    server.answer = undefined;
    server.order = anOrder({ status: 'PENDING', serverTime: 1_800_000_030 });
    await pass(31_000);
    expect(reach).toEqual([false, true]);
    expect(shown.at(-1)?.status).toBe('PENDING');
  });

  test('accepts answers of a server whose clock is behind or was set back', async () => {
    const { shown, server, following } = aPage(anOrder({ serverTime: 1_800_000_300 }), { streams: false });
    server.order = anOrder({ status: 'PENDING', receivedAmount: '40.00', serverTime: 1_800_000_000 });
    expect(await following.refresh()).toBe(server.order);
    server.order = anOrder({ status: 'SUCCESS', serverTime: 1_799_999_990 });
    await pass(3_500);
    expect(shown.map(({ status }) => status)).toEqual(['PENDING', 'SUCCESS']);
  });

  test('polls an expired order slowly, since it may be paid late', async () => {
    const { asked, server, shown } = aPage(anOrder({ status: 'EXPIRED' }), { streams: false });
    await pass(3_500 + 30_000);
    expect(asked).toEqual(['pay', 'pay', 'pay']);
    server.order = anOrder({ status: 'EXPIRED', reason: 'Paid after expiry' });
    await pass(15_000);
    expect(shown.at(-1)?.reason).toBe('Paid after expiry');
  });
});

describe('followOrder with a stream', () => {
  test('does not poll while the stream is active', async () => {
    const { asked, shown, say } = aPage(anOrder());
    say('order', anOrder({ status: 'PENDING' }));
    for (let i = 0; i < 10; i += 1) {
      await pass(15_000);
      say('ping');
    }
    expect([asked, shown.length]).toEqual([[], 1]);
  });

  test('polls until the stream is active, and as soon as it breaks', async () => {
    const page = aPage(anOrder());
    await pass(3_500);
    expect(page.asked).toEqual(['status']);
    page.say('order', anOrder());
    await pass(30_000);
    expect(page.asked).toHaveLength(1);
    page.opened[0]!.state = 0; // reconnecting
    page.say('error');
    await pass(10);
    expect(page.asked).toHaveLength(2);
    expect(page.opened).toHaveLength(1);
  });

  test('opens the stream again after a refusal and after silence', async () => {
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

  test('polls when a stream message may be older than the order shown', async () => {
    const { asked, shown, say, server } = aPage(anOrder());
    say('order', anOrder({ serverTime: 1_800_000_020 }));
    server.order = anOrder({ reason: 'Reorganised', serverTime: 1_800_000_011 });
    server.answer = { outcome: 'UNREACHABLE' };
    say('order', { ...server.order, serverTime: 1_800_000_010 });
    say('order', { ...server.order, serverTime: 1_800_000_010 });
    say('ping');
    await pass(1_500);
    expect([asked, shown.length]).toEqual([['pay'], 1]);
    server.answer = undefined;
    await pass(2_000);
    expect(shown.slice(1)).toEqual([server.order]);
    // From here on the stream's clock is the one that is behind.
    say('order', anOrder({ status: 'PENDING', serverTime: 1_800_000_012 }));
    await pass(30_000);
    expect([asked, shown.at(-1)?.status]).toEqual([['pay', 'pay'], 'PENDING']);
  });

  test('reads again when a stream message came between request and answer', async () => {
    const { asked, shown, say, server, following } = aPage(anOrder());
    const refreshed = following.refresh(); // answered with INIT and the same server time
    server.order = anOrder({ status: 'PENDING' });
    say('order', server.order);
    expect(await refreshed).toBe(server.order);
    expect([asked, shown.map(({ status }) => status)]).toEqual([
      ['pay', 'pay'],
      ['PENDING', 'PENDING'],
    ]);
  });

  test('stops refreshing after a final stream message', async () => {
    const { asked, say, following } = aPage(anOrder());
    const refreshed = following.refresh();
    say('order', anOrder({ status: 'SUCCESS' }));
    expect((await refreshed)?.status).toBe('SUCCESS');
    expect(asked).toEqual(['pay']);
  });

  test('closes the stream when the order is final', async () => {
    const { opened, say } = aPage(anOrder());
    say('order', anOrder({ status: 'SUCCESS' }));
    await pass(600_000);
    expect([opened[0]!.closed, opened.length]).toEqual([true, 1]);
  });
});

describe('followOrder after a time jump', () => {
  test('reads the whole order at once and opens another stream', async () => {
    const { asked, shown, opened, say, following } = aPage(anOrder());
    say('order', anOrder({ serverTime: 1_800_000_001 }));
    following.doubt();
    await pass(10);
    expect([asked, shown.length]).toEqual([['pay'], 2]);
    expect(opened.map(({ closed }) => closed)).toEqual([true, false]);
  });

  test('drops earlier answers and messages of the old stream', async () => {
    const page = aPage(anOrder());
    const old = page.opened[0]!;
    const refreshed = page.following.refresh();
    page.following.doubt();
    old.listeners.get('order')!({ data: JSON.stringify(anOrder({ status: 'PENDING' })) });
    expect([await refreshed, page.shown]).toEqual([undefined, []]);
    await pass(10);
    expect(page.shown).toHaveLength(1);
  });

  test('keeps reading the whole order until it is answered', async () => {
    const { asked, shown, server, following } = aPage(anOrder(), { streams: false });
    server.answer = { outcome: 'UNREACHABLE' };
    following.doubt();
    await pass(5_000);
    expect(new Set(asked)).toEqual(new Set(['pay']));
    server.answer = undefined;
    await pass(10_000);
    expect(shown).toHaveLength(1);
    const whole = asked.length;
    await pass(3_000);
    expect(asked.slice(whole)).toEqual(['status']);
  });

  test('reads a final order once after a time jump, and opens no stream', async () => {
    const { asked, opened, say, server, following } = aPage(anOrder());
    server.order = anOrder({ status: 'SUCCESS' });
    say('order', server.order);
    following.doubt();
    await pass(10_000);
    expect([asked, opened.length]).toEqual([['pay'], 1]);
  });

  test('reads the newest state when the page becomes visible, despite a stream', async () => {
    const { asked, say, following } = aPage(anOrder());
    say('ping');
    following.wake();
    await pass(10_000);
    expect(asked).toEqual(['status']);
  });
});
