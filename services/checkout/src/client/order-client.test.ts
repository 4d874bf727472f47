import { expect, test } from 'vitest';
import { anOrder } from '../../test/support/an-order.ts';
import { createOrderClient } from './order-client.ts';

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
