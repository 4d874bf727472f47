import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { EvmClient, EvmClientConfig } from '../src/client.ts';
import { createEvmClient } from '../src/client.ts';

interface Call {
  readonly id: number;
  readonly method: string;
}
interface Answer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body: unknown;
}

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** Answers the client's first question, the chain id, correctly. */
async function node(
  answer: (calls: readonly Call[]) => Answer | undefined,
): Promise<{ url: string; connections: Set<Socket>; bodies: unknown[] }> {
  const bodies: unknown[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => (text += chunk));
    request.on('end', () => {
      const body = JSON.parse(text) as Call | Call[];
      bodies.push(body);
      const scripted = answer(Array.isArray(body) ? body : [body]);
      if (scripted === undefined) return; // never answers
      response.writeHead(scripted.status ?? 200, scripted.headers);
      response.end(typeof scripted.body === 'string' ? scripted.body : JSON.stringify(scripted.body));
    });
  });
  const connections = new Set<Socket>();
  server.on('connection', (socket) => connections.add(socket));
  server.keepAliveTimeout = 0; // also when a test pauses between two requests
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2/secret-key`,
    connections,
    bodies,
  };
}

const right = ({ id, method }: Call): object => ({
  jsonrpc: '2.0',
  id,
  result: method === 'eth_chainId' ? '0x38' : `${method}!`,
});
const two = [
  { method: 'one', params: [] },
  { method: 'two', params: [1] },
];

function clientOf(url: string, config: Partial<EvmClientConfig> = {}): EvmClient {
  return createEvmClient({ url, chainId: 56, requestTimeoutMs: 20_000, ...config });
}

describe('createEvmClient', () => {
  it('returns results in the order of the requests, over kept connections', async () => {
    const { url, connections, bodies } = await node((calls) => ({ body: calls.map(right).reverse() }));
    const client = clientOf(url);
    for (let count = 0; count < 20; count += 1) expect(await client.batch(two)).toEqual(['one!', 'two!']);
    // Node may open a second connection while it releases the first one.
    expect(connections.size).toBeLessThanOrEqual(2);
    expect(bodies.flat().filter((call) => (call as Call).method === 'eth_chainId')).toHaveLength(1);
  });

  it('does not send a single request as a batch', async () => {
    const { url, bodies } = await node((calls) => ({
      body: calls.length === 1 ? right(calls[0]!) : calls.map(right),
    }));
    const client = clientOf(url);
    await client.batch([two[0]!]);
    expect(await client.batch([two[0]!])).toEqual(['one!']);
    expect(bodies[1]).toEqual({ jsonrpc: '2.0', id: 1, method: 'one', params: [] });
  });

  it('accepts null as a result', async () => {
    const { url } = await node((calls) => ({
      body: calls.map((call) =>
        call.method === 'one' ? { id: call.id, result: null, error: null } : right(call),
      ),
    }));
    expect(await clientOf(url).batch(two)).toEqual([null, 'two!']);
  });

  it.each<[string, (calls: readonly Call[]) => Answer, string]>([
    ['fewer answers', (calls) => ({ body: calls.slice(1).map(right) }), 'INCONSISTENT_ANSWER'],
    [
      'more answers',
      (calls) => ({ body: [...calls.map(right), { id: 99, result: 1 }] }),
      'INCONSISTENT_ANSWER',
    ],
    [
      'an answer twice',
      (calls) => ({ body: [...calls.map(right), right(calls[0]!)] }),
      'INCONSISTENT_ANSWER',
    ],
    [
      'answers to an earlier request',
      (calls) => ({ body: calls.map((call) => right({ ...call, id: call.id - 3 })) }),
      'INCONSISTENT_ANSWER',
    ],
    ['no result', (calls) => ({ body: calls.map(({ id }) => ({ id })) }), 'INCONSISTENT_ANSWER'],
    ['a string', () => ({ body: '"ok"' }), 'INCONSISTENT_ANSWER'],
    ['null', () => ({ body: 'null' }), 'INCONSISTENT_ANSWER'],
    ['an empty body', () => ({ body: '' }), 'RPC_UNAVAILABLE'],
    ['HTML', () => ({ body: '<html>' }), 'RPC_UNAVAILABLE'],
    [
      'one error for the batch',
      () => ({ body: { id: null, error: { code: -32600, message: 'batch too large' } } }),
      'RPC_REFUSED',
    ],
    [
      'an error among results',
      (calls) => ({
        body: calls.map((call) =>
          call.method === 'two'
            ? {
                id: call.id,
                error: { code: -32601, message: 'the method two does not exist/is not available' },
              }
            : right(call),
        ),
      }),
      'RPC_METHOD_MISSING',
    ],
    ['an error that is a string', () => ({ body: { error: 'rate limit exceeded' } }), 'RPC_RATE_LIMITED'],
    ['500 with results', (calls) => ({ status: 500, body: calls.map(right) }), 'RPC_UNAVAILABLE'],
    [
      '400 with an error',
      () => ({
        status: 400,
        body: { error: { code: -32602, message: 'block range extends beyond current head block' } },
      }),
      'BLOCK_NOT_FOUND',
    ],
    ['401', () => ({ status: 401, body: 'no' }), 'RPC_FORBIDDEN'],
    [
      '403 with an error',
      () => ({ status: 403, body: { error: { code: -32000, message: 'origin not on the list' } } }),
      'RPC_FORBIDDEN',
    ],
    ['413', () => ({ status: 413, body: 'too large' }), 'RPC_RANGE_TOO_LARGE'],
    [
      'a redirect',
      () => ({ status: 302, headers: { location: 'http://127.0.0.1:1/' }, body: '' }),
      'RPC_UNAVAILABLE',
    ],
    [
      'another chain',
      (calls) => ({ body: calls.map((call) => ({ id: call.id, result: '0x1' })) }),
      'WRONG_CHAIN',
    ],
  ])('does not accept %s as an answer', async (_, answer, code) => {
    const { url } = await node(answer);
    const error: unknown = await clientOf(url)
      .batch(two)
      .catch((refusal: unknown) => refusal);
    expect(error).toMatchObject({ name: 'GatewayError', code });
    const { message, context } = error as { message: string; context: object };
    expect(message + JSON.stringify(context)).not.toContain('secret-key');
  });

  it('ends a call at its timeout, and at once when aborted', async () => {
    const { url } = await node(() => undefined);
    const controller = new AbortController();
    let hasEnded = false;
    const read = clientOf(url, { requestTimeoutMs: 60_000 })
      .batch(two, { signal: controller.signal })
      .finally(() => (hasEnded = true));
    await expect(clientOf(url, { requestTimeoutMs: 500 }).batch(two)).rejects.toMatchObject({
      code: 'RPC_UNAVAILABLE',
    });
    expect(hasEnded).toBe(false);
    controller.abort();
    await expect(read).rejects.toMatchObject({ code: 'READ_ABORTED' });
  });

  it('cuts off answers that are too long', async () => {
    const { url } = await node(() => ({ body: 'x'.repeat(2_000_000) }));
    await expect(clientOf(url, { answerBytesMax: 1_000_000 }).batch(two)).rejects.toMatchObject({
      code: 'RPC_RANGE_TOO_LARGE',
    });
  });

  it('reads Retry-After as seconds and as a date', async () => {
    const now = Date.now();
    const date = new Date(now).toUTCString(); // the answer's own time
    for (const [retryAfter, wait] of [
      ['3', 3_000],
      [new Date(now + 7_000).toUTCString(), 7_000],
      ['soon', undefined],
    ] as const) {
      const headers = { date, 'retry-after': retryAfter };
      const { url } = await node(() => ({ status: 429, headers, body: '' }));
      const error: unknown = await clientOf(url)
        .batch(two)
        .catch((refusal: unknown) => refusal);
      const { retryAfterMs } = (error as { context: { retryAfterMs?: number } }).context;
      expect(retryAfterMs).toBe(wait);
    }
  });

  it('reports exchanges without the path of the URL', async () => {
    const { url } = await node((calls) => ({ body: calls.map(right) }));
    const exchanges: object[] = [];
    await clientOf(url, { onExchange: (exchange) => exchanges.push(exchange) }).batch(two);
    await expect(
      clientOf('http://127.0.0.1:1/key', { onExchange: (exchange) => exchanges.push(exchange) }).batch(two),
    ).rejects.toMatchObject({ code: 'RPC_UNAVAILABLE' });
    expect(exchanges).toMatchObject([
      { endpoint: new URL(url).host, methods: ['eth_chainId'], outcome: 'OK' },
      {
        endpoint: new URL(url).host,
        methods: ['one', 'two'],
        outcome: 'OK',
        requestBytes: 106,
        answerBytes: 83,
      },
      { endpoint: '127.0.0.1:1', methods: ['eth_chainId'], outcome: 'RPC_UNAVAILABLE', answerBytes: 0 },
    ]);
  });
});
