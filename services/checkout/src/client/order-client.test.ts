import { afterEach, expect, test, vi } from 'vitest';
import { anOpenOrder, anOrder, USDC } from '../../test/support/an-order.ts';
import { createOrderClient } from './order-client.ts';

afterEach(() => void vi.useRealTimers());

const asking = (answer: () => Response) => {
  const urls: string[] = [];
  const client = createOrderClient(
    { apiBase: 'https://api.example', orderId: 'a:b', sign: 'f00' },
    async (url) => {
      urls.push(url as string);
      return answer();
    },
  );
  return { client, urls };
};
const json = (status: number, data: unknown, headers = {}) =>
  new Response(JSON.stringify({ code: status, msg: '', data }), { status, headers });

test('sends the order id and signature of the link', async () => {
  const { client, urls } = asking(() => json(200, anOrder()));
  expect(await client.pay()).toEqual({ outcome: 'ANSWERED', data: anOrder() });
  await client.status();
  expect(urls).toEqual([
    'https://api.example/v1/order/pay?orderId=a%3Ab&sign=f00',
    'https://api.example/v1/order/getOrderStatus?orderId=a%3Ab&sign=f00',
  ]);
  expect(client.eventsUrl).toBe('https://api.example/v1/order/events?orderId=a%3Ab&sign=f00');
});

test('asks for the order at most twice a second', async () => {
  vi.useFakeTimers();
  const { client, urls } = asking(() => json(200, anOrder()));
  const all = Promise.all(Array.from({ length: 3 }, () => client.pay()));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(urls).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(100);
  await all;
  expect(urls).toHaveLength(3);
});

test('sends a choice, and reports when the order rejects it', async () => {
  const requests: Request[] = [];
  let answer = json(200, anOpenOrder({ address: '0x1' }));
  const client = createOrderClient(
    { apiBase: 'https://api.example', orderId: 'a', sign: 'f' },
    async (...asked) => {
      requests.push(new Request(...asked));
      return answer;
    },
  );
  expect(await client.choose(USDC)).toMatchObject({ outcome: 'ANSWERED', data: { address: '0x1' } });
  const { method, url, headers } = requests[0]!;
  expect([method, url, headers.get('content-type')]).toEqual([
    'POST',
    'https://api.example/v1/order/choose?orderId=a&sign=f',
    'application/json',
  ]);
  expect(await requests[0]!.json()).toEqual({ chain: 'ETH_SEPOLIA', symbol: 'USDC' });
  for (const [status, outcome] of [
    [409, 'REJECTED'],
    [400, 'REJECTED'],
    [429, 'SLOW_DOWN'],
    [503, 'UNREACHABLE'],
  ] as const) {
    answer = json(status, null);
    expect(await client.choose(USDC)).toMatchObject({ outcome });
  }
});

test.each([
  ['REFUSED', () => json(404, null)],
  ['REFUSED', () => json(401, null)],
  ['SLOW_DOWN', () => json(429, null, { 'retry-after': '7' })],
  ['SLOW_DOWN', () => json(429, null)],
  ['UNREACHABLE', () => json(503, null)],
  ['UNREACHABLE', () => new Response('<html>proxy</html>', { status: 200 })],
  ['UNREACHABLE', () => new Response('<html>proxy</html>', { status: 404 })],
  ['UNREACHABLE', () => new Response('{"message":"log in"}', { status: 401 })],
  ['UNREACHABLE', () => new Response('{"code":404}', { status: 401 })],
  [
    'UNREACHABLE',
    () => {
      throw new TypeError('failed to fetch');
    },
  ],
])('returns %s for response %#', async (outcome, answer) => {
  expect(await asking(answer).client.pay()).toMatchObject({ outcome });
});
