import { createServer, get, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Opentill } from '@opentill/sdk/client';
import { buildShop } from './app.ts';
import type { DevnetWallet } from './devnet-wallet.ts';
import { RequestRefusal } from './request-refusal.ts';

const payouts: unknown[] = [];
const failures: string[] = [];
let server: Server;
let url: string;

beforeAll(async () => {
  const shop = buildShop({
    port: 3011,
    host: '127.0.0.1',
    machineHost: undefined,
    networks: [],
    opentill: {
      createPayout(fields: unknown) {
        payouts.push(fields);
        return Promise.reject(new RequestRefusal(400, 'the gateway refuses'));
      },
    } as Partial<Opentill> as Opentill,
    webhookSecret: 'the-secret',
    wallet: { describe: () => [] } as Partial<DevnetWallet> as DevnetWallet,
    clock: { now: () => new Date(0) },
    newId: () => '01a1ff1d-9388-7120-8b00-38f63ebe8b78',
    logger: { error: (event: string) => void failures.push(event) } as never,
  });
  server = createServer(shop);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const send = (path: string, body: string, type: string) =>
  fetch(url + path, { method: 'POST', body, headers: { 'content-type': type }, redirect: 'manual' });

it.each([
  ['JSON that is none', '/devnet/pay', '{', 'application/json', 400],
  [
    'a body that is too large',
    '/buy',
    `product=${'x'.repeat(70_000)}`,
    'application/x-www-form-urlencoded',
    413,
  ],
  ['a callback that is too large', '/callbacks', 'x'.repeat(70_000), 'application/json', 413],
  ['a path that is none', '/orders/%E0%A4%A/pay', '', 'text/plain', 400],
] as const)('says that it cannot read %s', async (_what, path, body, type, status) => {
  const answer = await send(path, body, type);
  expect(answer.status).toBe(status);
  expect(await answer.json()).toEqual({ error: expect.stringMatching(/^The request cannot be read: ./) });
  expect(failures).toEqual([]);
});

it('reads a form without a body as an empty form', async () => {
  expect((await send('/buy', 'x', 'text/plain')).status).toBe(404);
  expect((await send('/callbacks/forward', 'x', 'text/plain')).status).toBe(303);
  expect((await send('/pay-out', 'x', 'text/plain')).status).toBe(400);
  expect(payouts).toMatchObject([{ amount: '', receiveAddress: '' }]);
  expect(failures).toEqual([]);
});

it('answers a forwarding address as /docs says', async () => {
  const forward = (target: string) =>
    send('/callbacks/forward', `url=${target}`, 'application/x-www-form-urlencoded');
  for (const target of ['http://127.0.0.1:4000/', '']) {
    const answer = await forward(target);
    expect([answer.status, await answer.text()]).toEqual([303, 'See Other. Redirecting to /callbacks']);
  }
  const refused = await forward('https://shop.example/');
  expect([refused.status, await refused.json()]).toMatchObject([400, { error: expect.any(String) }]);
});

it('gives the webhook secret as text, for a shell', async () => {
  expect(await (await fetch(`${url}/devnet/webhook-secret`)).text()).toBe('the-secret');
});

it('shows its keys only under a name of this machine', async () => {
  const read = (host: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      get(`${url}/devnet.json`, { headers: { host } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).once('error', reject);
    });
  expect([await read('localhost:3011'), await read('rebound.example:3011')]).toEqual([200, 403]);
});
