import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { readerError } from '@opentill/chain/reader-error';
import { startAnvil } from '@opentill/devnets/evm/anvil';
import { findFreePort } from '@opentill/test-servers/free-port';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { EvmSource, EvmSources, EvmSourcesConfig, SourceChange } from '../src/sources.ts';
import { createEvmSources } from '../src/sources.ts';
import type { Script, ScriptedNode } from './scripted-node.ts';
import { answering, callOf, callsOf, neverAnswering, refusing, scriptedNode } from './scripted-node.ts';

const nodes: ScriptedNode[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const node of nodes.splice(0)) await node.close();
});

/** Its own clock moves only by `pass`. */
async function network(
  scripts: readonly Script[],
  config: Partial<EvmSourcesConfig> = {},
): Promise<{
  sources: EvmSources;
  nodes: ScriptedNode[];
  changes: SourceChange[];
  pass: (ms: number) => void;
  ask: (options?: { hedge?: boolean }) => Promise<unknown>;
  asked: () => number[];
}> {
  const own = await Promise.all(scripts.map((script) => scriptedNode(script)));
  nodes.push(...own);
  let now = 0;
  const changes: SourceChange[] = [];
  const sources = createEvmSources({
    endpoints: own.map(({ url }) => ({ url })),
    chainId: 56,
    maxBlockRange: 1_000,
    blockTimeMs: 1_000,
    requestTimeoutMs: 20_000,
    onSourceChange: (change) => changes.push(change),
    nowMs: () => now,
    random: () => 0,
    ...config,
  });
  return {
    sources,
    nodes: own,
    changes,
    pass: (ms) => void (now += ms),
    ask: async (options) =>
      (await sources.run((source, runOptions) => source.batch([callOf('who')], runOptions), options))[0],
    /** Requests to each node, except for the chain id. */
    asked: () => own.map(({ requests }) => requests.flat().filter(({ method }) => method === 'who').length),
  };
}
/** Answers with its name, and always the same head. */
const named = (name: string, chainId?: string): Script =>
  answering(({ method }) => (method === 'eth_getBlockByNumber' ? header(100) : name), chainId);
const down: Script = () => ({ status: 503, body: '<html>' });
const labels = (sources: readonly EvmSource[]): string[] => sources.map(({ label }) => label);

describe('fail-over', () => {
  it.each<[string, Script]>([
    ['is down', down],
    ['resets connections', () => 'reset'],
    ['does not answer', neverAnswering],
    ['sends half an answer', () => ({ body: '{"jsonrpc":"2.0","id":1,"res' })],
    ['answers another request', () => ({ body: { jsonrpc: '2.0', id: 7, result: 'x' } })],
    ['reports a rate limit', () => ({ status: 429, headers: { 'retry-after': '30' }, body: '' })],
    ['forbids access', () => ({ status: 403, body: '' })],
    ['has no such method', refusing(-32601, 'the method who does not exist/is not available')],
    ['lags', refusing(-32602, 'block range extends beyond current head block')],
    ['has no finalized block', refusing(-32000, 'finalized block not found')],
    ['rejects for an unknown reason', refusing(-32099, 'not today')],
    ['is on another chain', named('wrong', '0x1')],
  ])('tries the next source when one %s', async (_, script) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { ask, asked } = await network([script, named('second')]);
    expect(await ask()).toBe('second');
    expect(asked()[1]).toBe(1);
  });

  it('stops at an error that every source would return, and at a bug of the work', async () => {
    const tooLarge = refusing(-32005, 'query returned more than 10000 results');
    const { sources, ask, asked } = await network([
      (calls, isBatch) => (calls[0]?.method === 'who' ? tooLarge : named('first'))(calls, isBatch),
      named('second'),
    ]);
    await expect(ask()).rejects.toMatchObject({ code: 'RPC_RANGE_TOO_LARGE' });
    await expect(
      sources.run(() => {
        throw new TypeError('a bug');
      }),
    ).rejects.toThrow('a bug');
    expect(asked()).toEqual([1, 0]);
    expect(sources.usable()).toHaveLength(2);
  });

  it('tries the next source after a wrong answer, and records the fault', async () => {
    const { sources } = await network([named('first'), named('second')]);
    const tried: string[] = [];
    const result = await sources.run(async (source, options) => {
      const [name] = await source.batch([callOf('who')], options);
      tried.push(String(name));
      if (name === 'first') throw readerError('INCONSISTENT_ANSWER', 'the bloom contradicts it');
      return name;
    });
    expect([result, tried]).toEqual(['second', ['first', 'second']]);
    expect(sources.health()[0]).toMatchObject({ usable: true, lastErrorCode: 'INCONSISTENT_ANSWER' });
    expect(sources.health()[0]?.score).toBeLessThan(1);
  });

  it('tries each source once and throws the most informative error', async () => {
    const lagging = refusing(-32602, 'block range extends beyond current head block');
    const chained =
      (script: Script): Script =>
      (calls, isBatch) =>
        (calls[0]?.method === 'eth_chainId' ? named('') : script)(calls, isBatch);
    const {
      sources,
      ask,
      nodes: own,
    } = await network([named('', '0x1'), down, chained(lagging), () => 'reset']);
    const error: unknown = await ask().catch((failure: unknown) => failure);
    const hosts = own.map(({ url }) => new URL(url).host);
    expect(error).toMatchObject({
      code: 'BLOCK_NOT_FOUND',
      retryable: true,
      context: {
        attempts: [
          { endpoint: hosts[0], code: 'WRONG_CHAIN' },
          { endpoint: hosts[1], code: 'RPC_UNAVAILABLE' },
          { endpoint: hosts[2], code: 'BLOCK_NOT_FOUND' },
          { endpoint: hosts[3], code: 'RPC_UNAVAILABLE' },
        ],
      },
    });
    expect(JSON.stringify(error) + String(error)).not.toContain('secret-key');
    expect(sources.health().map(({ lastErrorCode }) => lastErrorCode)).toContain('BLOCK_NOT_FOUND');
  });

  it('returns the shortest delay, if every source named one', async () => {
    const busy =
      (seconds: number): Script =>
      () => ({ status: 429, headers: { 'retry-after': String(seconds) }, body: '' });
    const both = await network([busy(30), busy(20)]);
    await expect(both.ask()).rejects.toMatchObject({
      code: 'RPC_RATE_LIMITED',
      context: { retryAfterMs: 20_000 },
    });
    const one = await network([busy(30), down]);
    const error: unknown = await one.ask().catch((failure: unknown) => failure);
    expect((error as { context: object }).context).not.toHaveProperty('retryAfterMs');
  });

  it('ends a run with the caller’s signal, without fail-over', async () => {
    const { sources, asked } = await network([() => 'silence', named('second')]);
    const controller = new AbortController();
    const read = sources.run((source, options) => source.batch([callOf('who')], options), {
      signal: controller.signal,
    });
    controller.abort();
    await expect(read).rejects.toMatchObject({ code: 'READ_ABORTED' });
    expect(asked()).toEqual([0, 0]);
    expect(sources.usable()).toHaveLength(2);
  });
});

describe('a failed source', () => {
  it('backs off from a failed source, longer each time', async () => {
    const { sources, ask, asked, nodes: own, pass, changes } = await network([down, named('second')]);
    await ask();
    expect(labels(sources.usable())).toEqual([new URL(own[1]!.url).host]);
    const before = own[0]!.requests.length;
    for (let count = 0; count < 5; count += 1) await ask();
    expect(own[0]!.requests).toHaveLength(before);
    expect(changes).toMatchObject([{ trouble: 'RESTING', before: null, lastErrorCode: 'RPC_UNAVAILABLE' }]);
    own[1]!.script = down;
    own[0]!.script = named('first');
    expect(await ask()).toBe('first');
    expect(asked()[0]).toBe(1);
    // The second failure doubles its backoff.
    own[0]!.script = down;
    pass(126);
    await ask().catch(() => undefined);
    pass(130);
    expect(labels(sources.usable())).toEqual([new URL(own[0]!.url).host]);
    pass(130);
    expect(sources.usable()).toHaveLength(2);
  });

  it('prefers a source again some time after its failures', async () => {
    const { sources, ask, nodes: own, pass } = await network([named('first'), named('second')]);
    expect(await ask()).toBe('first');
    own[0]!.script = down;
    expect(await ask()).toBe('second');
    own[0]!.script = named('first');
    pass(1_000);
    expect(sources.usable()).toHaveLength(2);
    const [first, second] = sources.health();
    expect(first!.score).toBeLessThan(second!.score); // real latencies count too, so not who is asked
    pass(300_000);
    expect(await ask()).toBe('first');
    expect(sources.health()[0]?.score).toBeGreaterThan(0.99);
  });

  it('does not use a source on another chain until it reports the right one', async () => {
    const {
      sources,
      ask,
      nodes: own,
      pass,
      changes,
    } = await network([named('wrong', '0x1'), named('second')]);
    for (let count = 0; count < 3; count += 1) expect(await ask()).toBe('second');
    expect(sources.health()[0]).toMatchObject({
      usable: false,
      trouble: 'WRONG_CHAIN',
      lastErrorCode: 'WRONG_CHAIN',
    });
    pass(600_000);
    expect(labels(sources.usable())).toEqual([new URL(own[1]!.url).host]);
    expect(changes.map(({ trouble }) => trouble)).toEqual(['WRONG_CHAIN']);
    own[0]!.script = named('first');
    // The sources themselves ask it for its head now and then.
    await waitUntil('it is so', async () => {
      pass(60_000);
      return (await ask()) === 'first';
    });
    expect(changes.map(({ trouble }) => trouble)).toEqual(['WRONG_CHAIN', null]);
  });
});

describe('a lagging source', () => {
  const headOf = (head: () => number): Script =>
    answering(({ method }) => (method === 'eth_getBlockByNumber' ? header(head()) : `at ${head()}`));

  it('does not use a lagging source until it has caught up', async () => {
    const heights = [100, 100];
    const { sources, pass, changes } = await network([headOf(() => heights[0]!), headOf(() => heights[1]!)], {
      epochMs: () => 10_000_000,
    });
    const note = (place: number): void =>
      sources.noteHead(sources.all()[place]!, { height: heights[place]!, timeSeconds: heights[place]! });
    note(0);
    note(1);
    heights[1] = 200;
    note(1);
    note(0);
    expect(labels(sources.usable())).toEqual([sources.all()[1]!.label]);
    expect(sources.health()[0]).toMatchObject({ usable: false, trouble: 'LAGGING', headLagBlocks: 100 });
    heights[0] = 200;
    // Only the sources themselves record its head.
    await waitUntil('it is so', async () => {
      pass(5_000);
      await sources.run((source, options) => source.batch([callOf('who')], options));
      return sources.usable().length === 2;
    });
    expect(changes.map(({ trouble }) => trouble)).toEqual(['LAGGING', null]);
  });

  it('reports a source as stuck when only its head stops', async () => {
    const { sources, pass } = await network([named('first'), named('second')], { epochMs: () => 10_000_000 });
    const [first, second] = sources.all();
    for (let height = 100; height < 140; height += 1) {
      sources.noteHead(second!, { height: height === 139 ? 101 : 100, timeSeconds: 100 });
      sources.noteHead(first!, { height: 100, timeSeconds: 100 });
      pass(1_000);
    }
    expect(sources.health()[0]).toMatchObject({ trouble: 'STUCK', usable: false });
    expect(sources.health()[1]).toMatchObject({ trouble: null, usable: true });
  });
});

describe('hedging', () => {
  /** A second source starts after a fifth of the timeout. */
  const HEDGED_SOON = { requestTimeoutMs: 10_000 };
  const slow =
    (name: string, done: () => Promise<unknown>): Script =>
    async (calls, isBatch) => {
      if (calls[0]?.method === 'who') await done();
      return named(name)(calls, isBatch) as { body: unknown };
    };
  const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

  it('starts a second source next to a slow one, and drops the slower', async () => {
    const never = slow('first', () => new Promise(() => undefined));
    const { ask, sources, nodes: own } = await network([never, named('second')], HEDGED_SOON);
    expect(await ask({ hedge: true })).toBe('second');
    // Being slower than the second is not a failure.
    expect(sources.health()[0]).toMatchObject({ usable: true, lastErrorCode: null });
    await waitUntil('it is so', () => own[0]!.brokenOff === 1);
  });

  it('starts a second source in at most a tenth of the runs', async () => {
    // Each run is slower than all before, so each would need a second source.
    let ms = 0;
    const takingLonger = (name: string): Script => slow(name, () => after(ms));
    const { ask, asked } = await network([takingLonger('first'), takingLonger('second')]);
    for (let count = 0; count < 20; count += 1) {
      ms += 8;
      await ask({ hedge: true });
    }
    const [first = 0, second = 0] = asked();
    expect(first + second - 20).toBeLessThanOrEqual(1 + 2);
    expect(first + second).toBeGreaterThan(20);
  });

  it('takes the first success of a hedged run, even after a failure', async () => {
    const first = slow('first', () => waitUntil('the second has failed', () => own[1]!.requests.length > 0));
    const { ask, nodes: own } = await network([first, down], HEDGED_SOON);
    expect(await ask({ hedge: true })).toBe('first');
    expect(own[1]!.requests).toHaveLength(1);
  });

  it('starts no second source without the hedge option', async () => {
    const { ask, asked } = await network([slow('first', () => after(2_200)), named('second')], HEDGED_SOON);
    expect(await ask()).toBe('first');
    expect(asked()).toEqual([1, 0]);
  });
});

describe('createEvmSources', () => {
  it('prefers a source without a limit, and uses limited ones when all are', async () => {
    const all = await Promise.all([answering(), answering(), down].map((script) => scriptedNode(script)));
    nodes.push(...all);
    const [one, two, broken] = all.map(({ url }) => ({ url }));
    const config = { chainId: 56, maxBlockRange: 1_000, blockTimeMs: 1_000, requestTimeoutMs: 4_000 };
    const ask = (...endpoints: EvmSourcesConfig['endpoints']): Promise<unknown> =>
      createEvmSources({ ...config, endpoints }).run((source, options) => source.batch(callsOf(30), options));
    const limited = { requestsPerSecond: 5 };
    await ask({ ...one!, ...limited }, two!);
    expect(all.map(({ requests }) => requests.flat().length)).toEqual([0, 31, 0]);
    const answers = await Promise.all([
      ask({ ...one!, ...limited }, { ...two!, ...limited }),
      ask({ ...one!, ...limited }, broken!),
    ]);
    for (const answer of answers) expect(answer).toHaveLength(30);
  });

  it('keeps a block range per source, within the limits of endpoint and network', async () => {
    const { url } = await scriptedNode(answering()).then((node) => (nodes.push(node), node));
    const sources = createEvmSources({
      endpoints: [{ url, maxBlockRange: 10 }, { url, maxBlockRange: 5_000 }, { url }],
      chainId: 56,
      maxBlockRange: 1_000,
      blockTimeMs: 1_000,
    });
    expect(sources.all().map(({ blockRange }) => blockRange.blocks())).toEqual([10, 1_000, 1_000]);
  });

  it('excludes unfit sources, unless all are', async () => {
    const { sources, ask, asked, nodes: own } = await network([named('first'), named('second')]);
    const [first, second] = sources.all();
    sources.exclude(first!, readerError('TOKEN_MISMATCH', 'no token there'));
    expect(sources.usable()).toEqual([second]);
    own[1]!.script = down;
    await expect(ask()).rejects.toMatchObject({ code: 'RPC_UNAVAILABLE' });
    expect(asked()[0]).toBe(0);
    expect(sources.health()[0]).toMatchObject({ usable: false, trouble: 'EXCLUDED' });
    sources.exclude(second!, readerError('TOKEN_MISMATCH', 'nor there'));
    expect(sources.usable()).toHaveLength(2);
  });

  it('requires at least one URL', () => {
    const config = { endpoints: [], chainId: 1, maxBlockRange: 1, blockTimeMs: 1 };
    expect(() => createEvmSources(config)).toThrow(TypeError);
  });

  it('detects another chain at the URL of a real node', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'sources-'));
    const port = await findFreePort();
    let anvil = await startAnvil({ dir, port, chainId: 56 });
    try {
      const sources = createEvmSources({
        endpoints: [{ url: anvil.rpcUrl }],
        chainId: 56,
        maxBlockRange: 1_000,
        blockTimeMs: 1_000,
        requestTimeoutMs: 20_000,
      });
      const run = (method: string, ...params: unknown[]): Promise<unknown> =>
        sources.run(async (source, options) => (await source.batch([callOf(method, ...params)], options))[0]);
      expect(await run('eth_blockNumber')).toBe('0x0');
      await expect(run('eth_getLogs', { fromBlock: '0x10', toBlock: '0x20' })).rejects.toMatchObject({
        code: 'BLOCK_NOT_FOUND',
      });
      await expect(run('eth_nonsense')).rejects.toMatchObject({
        code: 'RPC_METHOD_MISSING',
        retryable: false,
      });
      await anvil.stop('kill');
      await expect(run('eth_blockNumber')).rejects.toMatchObject({ code: 'RPC_UNAVAILABLE' });
      anvil = await startAnvil({ dir, port, chainId: 57 });
      await expect(run('eth_blockNumber')).rejects.toMatchObject({ code: 'WRONG_CHAIN' });
    } finally {
      await anvil.stop('kill');
      rmSync(dir, { recursive: true });
    }
  });
});

function header(height: number): object {
  const hash = `0x${height.toString(16).padStart(64, '0')}`;
  const hex = `0x${height.toString(16)}`;
  return {
    number: hex,
    hash,
    parentHash: `0x${(height - 1).toString(16).padStart(64, '0')}`,
    timestamp: hex,
    logsBloom: `0x${'0'.repeat(512)}`,
    transactions: [],
  };
}
