import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { ReaderError } from '@opentill/chain/reader-error';
import type { EvmClient, EvmClientConfig, RpcExchange } from '../src/client.ts';
import { createEvmClient } from '../src/client.ts';
import type { Call, Script, ScriptedNode } from './scripted-node.ts';
import { answering, callOf, callsOf, refusing, scriptedNode } from './scripted-node.ts';

const nodes: ScriptedNode[] = [];
afterEach(async () => {
  for (const node of nodes.splice(0)) await node.close();
});

const echo = ({ params }: Call): unknown => params[0];
const numbers = (count: number): number[] => Array.from({ length: count }, (_, place) => place);

async function clientOf(
  script: Script,
  config: Partial<EvmClientConfig> = {},
): Promise<{ client: EvmClient; node: ScriptedNode; exchanges: RpcExchange[] }> {
  const node = await scriptedNode(script);
  nodes.push(node);
  const exchanges: RpcExchange[] = [];
  const client = createEvmClient({
    url: node.url,
    chainId: 56,
    requestTimeoutMs: 20_000,
    onExchange: (exchange) => exchanges.push(exchange),
    ...config,
  });
  return { client, node, exchanges };
}

const failureOf = async (promise: Promise<unknown>): Promise<ReaderError> =>
  promise.then(
    () => {
      throw new Error('it did not fail');
    },
    (error: unknown) => error as ReaderError,
  );
const sizes = (node: ScriptedNode): number[] => node.requests.map((calls) => calls.length);

describe('batch', () => {
  it('learns the maximum number of calls that a provider names', async () => {
    // dRPC returns the error for every call of a batch that is too large.
    const script: Script = (calls, isBatch) =>
      calls.length <= 3
        ? (answering(echo)(calls, isBatch) as { body: unknown })
        : {
            body: calls.map(({ id }) => ({
              jsonrpc: '2.0',
              id,
              error: { code: 31, message: 'Batch of more than 3 requests are not allowed on free tier' },
            })),
          };
    const { client, node } = await clientOf(script);
    expect(await client.batch(callsOf(10))).toEqual(numbers(10));
    expect(sizes(node).filter((size) => size > 3)).toEqual([10]);
    node.requests.length = 0;
    expect(await client.batch(callsOf(10))).toEqual(numbers(10));
    expect(sizes(node)).toEqual([3, 3, 3, 1]);
  });

  it.each([
    ['geth', refusing(-32600, 'batch too large')],
    ['besu', refusing(-32005, 'Number of requests exceeds max batch size')],
    ['a proxy', ((): Script => () => ({ status: 413, body: '<html>Request Entity Too Large</html>' }))()],
  ])('halves a batch until %s accepts it', async (_, refusal) => {
    const script: Script = (calls, isBatch) =>
      calls.length <= 5 ? answering(echo)(calls, isBatch) : refusal(calls, isBatch);
    const { client } = await clientOf(script);
    for (let count = 0; count < 3; count += 1) expect(await client.batch(callsOf(40))).toEqual(numbers(40));
  });

  it('sends single calls to a node without batches, the last one after all others', async () => {
    let [open, openMax] = [0, 0];
    const done: unknown[] = [];
    const script: Script = async (calls, isBatch) => {
      const [call] = calls;
      if (isBatch || call === undefined)
        return { body: { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'Invalid Request' } } };
      open += 1;
      openMax = Math.max(openMax, open);
      await new Promise((resolve) => setTimeout(resolve, 5));
      open -= 1;
      if (call.method === 'echo') done.push(call.params[0]);
      if (call.params[0] === 15) expect(done).toHaveLength(16);
      return answering(echo)(calls, isBatch) as { body: unknown };
    };
    const { client, node } = await clientOf(script);
    expect(await client.batch(callsOf(16))).toEqual(numbers(16));
    expect(done.at(-1)).toBe(15);
    // Eight, because each new connection also asks for the chain id.
    expect(openMax).toBeLessThanOrEqual(8);
    expect(sizes(node).filter((size) => size > 1)).toEqual([16]);
  });

  it('splits a batch whose answers together are too large', async () => {
    // geth returns an error for the calls whose answers no longer fit.
    const script: Script = (calls) => ({
      body: calls.map((call, place) =>
        calls.length > 1 && place >= 4
          ? { jsonrpc: '2.0', id: call.id, error: { code: -32003, message: 'response too large' } }
          : { jsonrpc: '2.0', id: call.id, result: call.method === 'eth_chainId' ? '0x38' : echo(call) },
      ),
    });
    const single: Script = (calls, isBatch) => {
      const { body } = script(calls, isBatch) as { body: unknown[] };
      return { body: isBatch ? body : body[0] };
    };
    const { client, node } = await clientOf(single);
    expect(await client.batch(callsOf(10))).toEqual(numbers(10));
    node.requests.length = 0;
    // Other calls are sent together again.
    await client.batch(callsOf(10));
    expect(sizes(node)[0]).toBe(10);
  });

  it('splits answers that together exceed the limit, and rejects one that does', async () => {
    const { client } = await clientOf(
      answering(({ params }) => 'x'.repeat(Number(params[0]))),
      { answerBytesMax: 10_000 },
    );
    const long = [callOf('long', 4_000), callOf('long', 4_000), callOf('long', 4_000), callOf('long', 4_000)];
    expect(await client.batch(long)).toHaveLength(4);
    expect(await failureOf(client.batch([callOf('long', 12_000)]))).toMatchObject({
      code: 'RPC_RANGE_TOO_LARGE',
    });
    expect(await failureOf(client.batch([...long, callOf('long', 12_000)]))).toMatchObject({
      code: 'RPC_RANGE_TOO_LARGE',
    });
  });

  const withErrors =
    (errors: Readonly<Record<string, { code: number; message: string }>>): Script =>
    (calls, isBatch) => {
      const items = calls.map((call) => {
        const error = errors[call.method];
        const result = call.method === 'eth_chainId' ? '0x38' : '0x';
        return error === undefined ? { id: call.id, result } : { id: call.id, error };
      });
      return { body: isBatch ? items : items[0] };
    };
  const tooLarge = {
    code: -32602,
    message:
      'Log response size exceeded. Based on your parameters and the response size limit, this block range should work: [0x10, 0x19]',
  };
  const batch = [callOf('eth_getBlockByNumber'), callOf('eth_getLogs'), callOf('eth_getBlockReceipts')];

  it('reports which call was too large, and which size would be accepted', async () => {
    const { client, node } = await clientOf(withErrors({ eth_getLogs: tooLarge }));
    const { code, context } = await failureOf(client.batch(batch));
    expect({ code, ...context }).toMatchObject({
      code: 'RPC_RANGE_TOO_LARGE',
      method: 'eth_getLogs',
      place: 1,
      suggestedBlocks: 10,
    });
    expect(sizes(node)).toEqual([1, 3]); // not split: the error is not about the batch
    const other = await clientOf(
      withErrors({ eth_getBlockReceipts: { code: -32000, message: 'backend response too large' } }),
    );
    expect((await failureOf(other.client.batch(batch))).context).toMatchObject({
      method: 'eth_getBlockReceipts',
      place: 2,
    });
  });

  it('reports a fault in preference to a size', async () => {
    const { client } = await clientOf(
      withErrors({
        eth_getLogs: tooLarge,
        eth_getBlockReceipts: { code: 429, message: 'too many requests' },
      }),
    );
    expect(await failureOf(client.batch(batch))).toMatchObject({
      code: 'RPC_RATE_LIMITED',
      context: { method: 'eth_getBlockReceipts' },
    });
    const gone = await clientOf(
      withErrors({
        eth_getLogs: tooLarge,
        eth_getBlockByNumber: { code: -32000, message: 'header not found' },
      }),
    );
    expect(await failureOf(gone.client.batch(batch))).toMatchObject({ code: 'BLOCK_NOT_FOUND' });
  });

  it('fails a batch of many parts within a single timeout', async () => {
    const script: Script = async (calls, isBatch) => {
      if (isBatch) return { body: { id: null, error: { code: -32600, message: 'Invalid Request' } } };
      await new Promise((resolve) => setTimeout(resolve, 100));
      return answering(echo)(calls, isBatch) as { body: unknown };
    };
    const { client, node } = await clientOf(script, { requestTimeoutMs: 400 });
    expect(await failureOf(client.batch(callsOf(40)))).toMatchObject({ code: 'RPC_UNAVAILABLE' });
    // Four at a time. With a timeout per part instead of one for all, all of them would have been sent.
    const asked = node.requests.filter(([call], place) => place > 0 && call?.method === 'echo');
    expect(asked.length).toBeLessThan(40);
  });
});

describe('client connections', () => {
  it('checks the chain id on each connection, also on single-use ones', async () => {
    const { client, node } = await clientOf((calls, isBatch) => ({
      ...(answering(echo)(calls, isBatch) as { body: unknown }),
      headers: { connection: 'close' },
    }));
    for (let count = 0; count < 3; count += 1) expect(await client.batch(callsOf(2))).toEqual([0, 1]);
    expect(node.connections).toBe(node.requests.length);
    expect(node.requests.filter(([call]) => call?.method === 'eth_chainId').length).toBeGreaterThanOrEqual(3);
  });

  it('replaces connections that the node has closed, without an error', async () => {
    const { client, node, exchanges } = await clientOf(answering(echo));
    for (let count = 0; count < 20; count += 1) {
      expect(await client.batch(callsOf(2))).toEqual([0, 1]);
      // The node closes the connection when it receives the next request; the client cannot know before.
      const { script } = node;
      node.script = () => {
        node.script = script;
        return 'reset';
      };
    }
    expect(exchanges.every(({ outcome }) => outcome === 'OK')).toBe(true);
  });

  it('detects another chain behind a new connection', async () => {
    const { client, node } = await clientOf(answering(() => 'right'));
    expect(await client.batch(callsOf(2))).toEqual(['right', 'right']);
    node.script = answering(() => 'wrong', '0x1');
    node.dropConnections();
    for (let count = 0; count < 3; count += 1) {
      expect(await failureOf(client.batch(callsOf(2)))).toMatchObject({
        code: 'WRONG_CHAIN',
        retryable: false,
      });
    }
    node.script = answering(() => 'right');
    expect(await client.batch(callsOf(2))).toEqual(['right', 'right']);
  });

  it('accepts compressed answers and reports their size', async () => {
    const packed = (body: unknown): { headers: Record<string, string>; body: Buffer } => ({
      headers: { 'content-encoding': 'gzip' },
      body: gzipSync(JSON.stringify(body)),
    });
    const { client, node, exchanges } = await clientOf((calls, isBatch) =>
      packed((answering(() => 'x'.repeat(50_000))(calls, isBatch) as { body: unknown }).body),
    );
    expect(await client.batch(callsOf(2))).toEqual(['x'.repeat(50_000), 'x'.repeat(50_000)]);
    expect(node.headers[0]).toMatchObject({ 'accept-encoding': 'gzip', 'content-type': 'application/json' });
    const reported = exchanges.at(-1);
    expect(reported?.answerBytes).toBeLessThan(2_000);
    expect(reported?.requestBytes).toBe(Number(node.headers.at(-1)?.['content-length']));
    node.script = () => ({ headers: { 'content-encoding': 'gzip' }, body: 'not packed at all' });
    expect(await failureOf(client.batch(callsOf(2)))).toMatchObject({ code: 'RPC_UNAVAILABLE' });
  });
});

describe('a provider’s rate limit', () => {
  it('obeys a configured rate limit by sending batches in parts', async () => {
    const { client, node } = await clientOf(answering(echo), { requestsPerSecond: 10 });
    const startedAt = performance.now();
    await client.batch(callsOf(1));
    expect(await client.batch(callsOf(15))).toEqual(numbers(15));
    // 17 calls, including eth_chainId, of which ten were sent at once.
    expect(performance.now() - startedAt).toBeGreaterThan(600);
    expect(Math.max(...sizes(node))).toBeLessThanOrEqual(10);
  });

  it('delays a call after a rate limit, but not beyond its timeout', async () => {
    let complained = false;
    const script: Script = (calls, isBatch) => {
      if (complained || calls[0]?.method === 'eth_chainId') return answering(echo)(calls, isBatch);
      complained = true;
      return { status: 429, headers: { 'retry-after': '1' }, body: '' };
    };
    const { client, node } = await clientOf(script);
    const startedAt = performance.now();
    expect(await failureOf(client.batch(callsOf(1)))).toMatchObject({
      code: 'RPC_RATE_LIMITED',
      context: { retryAfterMs: 1_000 },
    });
    expect(await client.batch(callsOf(1))).toEqual([0]);
    expect(performance.now() - startedAt).toBeGreaterThan(900);

    node.script = () => ({ status: 429, headers: { 'retry-after': '3600' }, body: '' });
    expect(await failureOf(client.batch(callsOf(1)))).toMatchObject({ context: { retryAfterMs: 60_000 } });
    const asked = node.requests.length;
    const refused = await failureOf(client.batch(callsOf(1)));
    expect(refused).toMatchObject({ code: 'RPC_RATE_LIMITED', context: { notSent: true } });
    expect(refused.context['retryAfterMs']).toBeGreaterThan(20_000);
    expect(node.requests).toHaveLength(asked);
  });

  it('permits aborting a call that waits for the limiter', async () => {
    const { client } = await clientOf(answering(echo), { requestsPerSecond: 1 });
    await client.batch(callsOf(1));
    const controller = new AbortController();
    const read = failureOf(client.batch(callsOf(1), { signal: controller.signal }));
    controller.abort();
    expect(await read).toMatchObject({ code: 'READ_ABORTED' });
  });

  it('rejects a hurried call that would take too long, before it is sent', async () => {
    const { client, node } = await clientOf(answering(echo), { requestsPerSecond: 2 });
    expect(await failureOf(client.batch(callsOf(80), { hurried: true }))).toMatchObject({
      code: 'RPC_RATE_LIMITED',
      context: { notSent: true, tooSlow: true },
    });
    expect(node.requests).toHaveLength(0);
  });
});

describe('RawAnswer', () => {
  it('sends equal bytes for equal requests, regardless of earlier ones', async () => {
    const [one, two] = [await clientOf(answering(echo)), await clientOf(answering(echo))];
    await one.client.batch(callsOf(7));
    const [a, b] = [await one.client.ask(callsOf(3)), await two.client.ask(callsOf(3))];
    expect(a.body.equals(b.body)).toBe(true);
    expect(a.results()).toEqual([0, 1, 2]);
    expect(a.results()).toBe(a.results());
  });

  it('reports the error of a raw answer when it is parsed', async () => {
    const { client, node } = await clientOf(answering(echo));
    await client.batch(callsOf(1));
    node.script = () => ({ body: [{ id: 1, result: 0 }] });
    const answer = await client.ask(callsOf(2));
    expect(() => answer.results()).toThrow('1 answers to 2 requests');
    // After an invalid answer, the client checks the chain id again.
    node.script = answering(echo, '0x1');
    expect(await failureOf(client.ask(callsOf(2)))).toMatchObject({ code: 'WRONG_CHAIN' });
  });
});
