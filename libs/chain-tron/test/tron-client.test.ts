import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTronDevnet, type TronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import { listenLocally, readBody } from '@opentill/testkit/local-http-server';
import { createTronClient, type TronExchange } from '../src/tron-client.ts';

const KEY = '5f0c-key of/a:provider';
let devnet: TronDevnet;
let server: Server;
let providerUrl: string;
let requests: { readonly url: string; readonly headers: IncomingHttpHeaders; readonly connection: number }[];
let isRefusing = false;
let statuses: number[] = [];

beforeAll(async () => {
  devnet = await startTronDevnet({ blockTimeMs: 0 });
  await devnet.control.mine(2);
  let connections = 0;
  const numbers = new WeakMap<object, number>();
  server = createServer((request, response) => {
    void (async () => {
      const body = await readBody(request);
      const url = request.url ?? '';
      requests.push({ url, headers: request.headers, connection: numbers.get(request.socket) ?? 0 });
      if (isRefusing)
        return response.writeHead(401).end(`no such key: ${request.headers.authorization ?? ''}`);
      const status = statuses.shift() ?? 200;
      if (status !== 200) return response.writeHead(status).end('{}');
      const place = url.replace('/base', '');
      const answer = await fetch(`${devnet.url}${place}`, { method: 'POST', body });
      return response.writeHead(answer.status).end(await answer.text());
    })();
  });
  server.keepAliveTimeout = 0; // no limit for the pause between two requests
  server.on('connection', (socket) => numbers.set(socket, (connections += 1)));
  providerUrl = await listenLocally(server);
});
beforeEach(() => {
  requests = [];
  isRefusing = false;
  statuses = [];
});
afterAll(async () => {
  server.close().closeAllConnections();
  await devnet.close();
});

function clientOf(user: string) {
  const exchanges: TronExchange[] = [];
  const url = new URL(`${providerUrl}/base/`);
  url.username = encodeURIComponent(user);
  const onExchange = (exchange: TronExchange): void => void exchanges.push(exchange);
  const config = { url: url.href, genesisId: devnet.chainId, requestTimeoutMs: 60_000, onExchange };
  return { client: createTronClient(config), exchanges };
}

test('sends the API key in the TronGrid header and exposes it nowhere else', async () => {
  const { client, exchanges } = clientOf(KEY);
  await client.call({ side: 'wallet', method: 'getnowblock' });
  await client.call({ side: 'walletsolidity', method: 'getnowblock' });
  expect(new Set(requests.map(({ url }) => url))).toEqual(
    new Set(
      ['/base/wallet/getblock', '/base/wallet/getnowblock'].flatMap((path) => [
        path,
        path.replace('wallet', 'walletsolidity'),
      ]),
    ),
  );
  expect(new Set(requests.map(({ headers }) => headers['tron-pro-api-key']))).toEqual(new Set([KEY]));
  expect(requests.some(({ headers }) => headers.authorization !== undefined)).toBe(false);
  isRefusing = true;
  const refusal: unknown = await client
    .call({ side: 'wallet', method: 'getnowblock' })
    .catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: 'RPC_FORBIDDEN' });
  const exposed = JSON.stringify([
    client.label,
    exchanges,
    refusal,
    (refusal as Error).message,
    (refusal as Error).stack,
  ]);
  expect(exposed).not.toContain('5f0c');
});

test('sends no header without a key', async () => {
  const { client } = clientOf('');
  await client.call({ side: 'wallet', method: 'getnowblock' });
  expect(requests.length).toBeGreaterThan(0);
  expect(requests.some(({ headers }) => 'tron-pro-api-key' in headers)).toBe(false);
});

test('uses at most sixteen connections and asks each for its chain at most twice', async () => {
  const { client } = clientOf('');
  for (let round = 0; round < 5; round += 1)
    await Promise.all(
      Array.from({ length: 24 }, () =>
        client.call({ side: 'wallet', method: 'getblockbynum', body: { num: 1 } }),
      ),
    );
  const used = new Set(requests.map(({ connection }) => connection));
  expect(used.size).toBeLessThanOrEqual(16);
  expect(requests.filter(({ url }) => url.endsWith('/getblock')).length).toBeLessThanOrEqual(2 * used.size);
});

test.each([
  ['the first call over it is rate limited', [429]],
  ['the call for its chain is rate limited', [200, 429]],
])('checks the chain of a new connection again although %s', async (_, answers) => {
  const { client } = clientOf('');
  await client.call({ side: 'wallet', method: 'getnowblock' });
  server.closeIdleConnections(); // the next call opens a connection that may lead to another node
  requests = [];
  statuses = answers;
  const ask = () => client.call({ side: 'wallet', method: 'getblockbynum', body: { num: 1 } });
  await expect(ask()).rejects.toMatchObject({ code: 'RPC_RATE_LIMITED' });
  requests = [];
  await ask();
  expect(requests.map(({ url }) => url.split('/').at(-1))).toEqual(['getblock', 'getblockbynum']);
});
