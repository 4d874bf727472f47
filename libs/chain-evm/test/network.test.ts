import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { BlockHeader } from '@opentill/chain/block';
import type { RangeRead } from '@opentill/chain/chain-reader';
import { devAccount } from '@opentill/devnets/evm/accounts';
import type { ByzantineRpcOptions, ByzantineRpcProxy } from '@opentill/testkit/byzantine-rpc-proxy';
import { createByzantineRpcProxy } from '@opentill/testkit/byzantine-rpc-proxy';
import type { SourceDefect } from '../src/check-network.ts';
import type { FinalityLag } from '@opentill/chain-sources/read-finality';
import type { EvmNetwork } from '../src/reader.ts';
import { createPatientReader, readWhole } from './patient-reader.ts';
import type { EvmHarness } from './evm-harness.ts';
import { makeEvmHarness } from './evm-harness.ts';

let chain: EvmHarness;
let truth: RangeRead;
let headers: readonly BlockHeader[];
let from: number;
let to: number;
let proxies: ByzantineRpcProxy[] = [];

beforeAll(async () => {
  chain = await makeEvmHarness();
  for (let block = 0; block < 30; block += 1) {
    for (let count = 0; count < block % 3; count += 1)
      await chain.submit([{ kind: 'transfer', token: 0, to: chain.newAddress(), amount: BigInt(block + 1) }]);
    to = await chain.mine();
  }
  from = to - 29;
  truth = await readWhole(chain.reader, from, to);
  headers = await chain.reader.headers(from, to);
});
afterEach(async () => {
  await Promise.all(proxies.map((proxy) => proxy.close()));
  proxies = [];
});
afterAll(() => chain.stop());

type Override = NonNullable<ByzantineRpcOptions['override']>;

async function proxyOf(
  override?: Override,
  options: Partial<ByzantineRpcOptions> = {},
): Promise<ByzantineRpcProxy> {
  const proxy = await createByzantineRpcProxy({
    upstreamUrl: chain.url,
    seed: 1,
    ...options,
    ...(override === undefined ? {} : { override }),
  });
  proxies.push(proxy);
  return proxy;
}

const networkOf = (sources: readonly ByzantineRpcProxy[], change: Partial<EvmNetwork> = {}): EvmNetwork => ({
  ...chain.network,
  rpcUrls: sources.map(({ url }) => url),
  ...change,
});

/** Accepts a single source as soon as all others fail. */
const ALONE_AT_ONCE = { aloneAfterSeconds: 0 } as const;
const hostOf = ({ url }: ByzantineRpcProxy): string => new URL(url).host;
const refuse =
  (refused: string, error: { code: number; message: string }): Override =>
  async ({ method }) =>
    method === refused ? { error } : undefined;

describe('checkNetwork', () => {
  const anotherChain = (): Promise<ByzantineRpcProxy> =>
    proxyOf(async ({ method }) => (method === 'eth_chainId' ? { result: '0x1' } : undefined));

  it('excludes a source of another chain and continues with the right one', async () => {
    for (const place of [0, 1]) {
      const findings: SourceDefect[] = [];
      const [wrong, right] = [await anotherChain(), await proxyOf()];
      const sources = place === 0 ? [wrong, right] : [right, wrong];
      const reader = createPatientReader(networkOf(sources, ALONE_AT_ONCE), {
        onFinding: (finding) => findings.push(finding),
      });
      await reader.checkNetwork();
      expect(findings).toMatchObject([
        { source: hostOf(wrong), kind: 'WRONG', error: { code: 'WRONG_CHAIN' } },
      ]);
      expect(await reader.readVerified(from, to, [])).toMatchObject(truth);
      expect(reader.sources!().find(({ label }) => label === hostOf(wrong))).toMatchObject({ usable: false });
      expect(wrong.calls['eth_getLogs']).toBeUndefined();
    }
  });

  it('reports WRONG_CHAIN when every source is on another chain', async () => {
    const reader = createPatientReader(networkOf([await anotherChain(), await anotherChain()]));
    await expect(reader.checkNetwork()).rejects.toMatchObject({ code: 'WRONG_CHAIN', retryable: false });
  });

  it('throws a retryable error while the only possibly right source is down', async () => {
    const findings: SourceDefect[] = [];
    const down = await proxyOf(undefined, { faults: { unavailable: 1 } });
    const reader = createPatientReader(networkOf([await anotherChain(), down]), {
      onFinding: (finding) => findings.push(finding),
    });
    await expect(reader.checkNetwork()).rejects.toMatchObject({ code: 'RPC_UNAVAILABLE', retryable: true });
    expect(findings.map(({ kind }) => kind)).toEqual(['WRONG', 'UNREACHABLE']);
  });

  it('does not wait for an unavailable source next to a right one', async () => {
    const down = await proxyOf(undefined, { faults: { unavailable: 1 } });
    await createPatientReader(networkOf([down, await proxyOf()])).checkNetwork();
  });

  const sixteenDecimals: Override = async ({ method }) =>
    method === 'eth_call' ? { result: `0x${(16).toString(16).padStart(64, '0')}` } : undefined;

  it('excludes a source with other decimals next to a right one', async () => {
    const findings: SourceDefect[] = [];
    const [wrong, right] = [await proxyOf(sixteenDecimals), await proxyOf()];
    const reader = createPatientReader(networkOf([wrong, right], ALONE_AT_ONCE), {
      onFinding: (finding) => findings.push(finding),
    });
    await reader.checkNetwork();
    expect(findings).toMatchObject([
      { source: hostOf(wrong), kind: 'WRONG', error: { code: 'TOKEN_MISMATCH' } },
    ]);
    const calls = { ...wrong.calls };
    expect(await reader.readVerified(from, to, [])).toMatchObject(truth);
    expect(wrong.calls).toEqual(calls);
  });

  it('reports TOKEN_MISMATCH when all sources have other decimals or no contract', async () => {
    const sources = [await proxyOf(sixteenDecimals), await proxyOf(sixteenDecimals)];
    await expect(createPatientReader(networkOf(sources)).checkNetwork()).rejects.toMatchObject({
      code: 'TOKEN_MISMATCH',
      retryable: false,
    });
    const nothing = { ...chain.network.tokens[0]!, contract: devAccount(9).address };
    const reader = createPatientReader(networkOf([await proxyOf()], { tokens: [nothing] }));
    await expect(reader.checkNetwork()).rejects.toMatchObject({ code: 'TOKEN_MISMATCH' });
  });

  it('reports a source that lacks logs or block receipts', async () => {
    const missing = { code: -32601, message: 'the method does not exist/is not available' };
    const findings: SourceDefect[] = [];
    const sources = [
      await proxyOf(refuse('eth_getLogs', missing)),
      await proxyOf(refuse('eth_getBlockReceipts', missing)),
    ];
    const reader = createPatientReader(networkOf(sources), {
      onFinding: (finding) => findings.push(finding),
    });
    await reader.checkNetwork();
    expect(findings).toHaveLength(2);
    expect(findings).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ source: hostOf(sources[0]!), kind: 'LOGS_MISSING' }),
        expect.objectContaining({ source: hostOf(sources[1]!), kind: 'RECEIPTS_MISSING' }),
      ]),
    );
  });

  it('determines the maximum block range of logs', async () => {
    const source = await proxyOf(undefined, { rangeCapBlocks: 3 });
    const reader = createPatientReader(networkOf([source]));
    await reader.checkNetwork();
    const refusals = source.injected.rangeCap;
    expect(refusals).toBeGreaterThan(0);
    expect(await reader.readSeen(from, from + 11)).toMatchObject({ headers: [headers[11]] });
    expect(source.injected.rangeCap).toBe(refusals);
  });
});

describe('finalized', () => {
  const TAGS = new Set<unknown>(['finalized', 'safe']);
  /** A null height means that the node reports none. */
  const finalizedAt =
    (height: number | { code: number; message: string } | null, ageSeconds = 0): Override =>
    async ({ method, params }, honest) => {
      if (method !== 'eth_getBlockByNumber' || !TAGS.has(params[0])) return undefined;
      if (typeof height === 'object') return height === null ? { result: null } : { error: height };
      const block = (await honest({ method, params: [`0x${height.toString(16)}`, false] })) as Record<
        string,
        string
      >;
      return {
        result: { ...block, timestamp: `0x${(Number(block['timestamp']) - ageSeconds).toString(16)}` },
      };
    };
  const STUCK = { code: -32000, message: 'finalized block not found' };

  async function finalizedBy(answers: readonly Parameters<typeof finalizedAt>[]): Promise<number> {
    const sources = [];
    for (const answer of answers) sources.push(await proxyOf(finalizedAt(...answer)));
    const reader = createPatientReader(networkOf(sources, { finality: { staleSeconds: 60 } }));
    return (await reader.finalized()).height;
  }

  it('takes the lower of two finalized heights', async () => {
    expect(await finalizedBy([[to - 3], [to - 7]])).toBe(to - 7);
    expect(await finalizedBy([[to - 7], [to - 3]])).toBe(to - 7);
    expect(await finalizedBy([[to - 3]])).toBe(to - 3);
  });

  it('follows a finalized height that jumps up and down', async () => {
    let height = from;
    const jumping: Override = (call, honest) => finalizedAt(height)(call, honest);
    const reader = createPatientReader(networkOf([await proxyOf(jumping), await proxyOf(jumping)]));
    expect((await reader.finalized()).height).toBe(from);
    height = to;
    expect((await reader.finalized()).height).toBe(to);
    height = from + 1;
    expect((await reader.finalized()).height).toBe(from + 1);
  });

  it('does not accept one finalized height while the other is missing (Polygon)', async () => {
    await expect(finalizedBy([[STUCK], [to - 7]])).rejects.toMatchObject({ code: 'FINALITY_UNAVAILABLE' });
    await expect(finalizedBy([[to - 7], [null]])).rejects.toMatchObject({ code: 'FINALITY_UNAVAILABLE' });
    expect(await finalizedBy([[STUCK], [to - 7], [to - 3]])).toBe(to - 7);
  });

  it('accepts one finalized height only when the other source failed for long', async () => {
    const pair = [
      await proxyOf(undefined, { faults: { unavailable: 1 } }),
      await proxyOf(finalizedAt(to - 2)),
    ];
    await expect(createPatientReader(networkOf(pair)).finalized()).rejects.toMatchObject({
      code: 'RPC_UNAVAILABLE',
    });
    expect((await createPatientReader(networkOf(pair, ALONE_AT_ONCE)).finalized()).height).toBe(to - 2);
  });

  it('throws FINALITY_UNAVAILABLE when no source has a finalized block', async () => {
    for (const unknown of [STUCK, { code: -32000, message: 'finalized header not found' }, null]) {
      await expect(finalizedBy([[unknown], [unknown]])).rejects.toMatchObject({
        code: 'FINALITY_UNAVAILABLE',
        retryable: true,
      });
    }
  });

  it('ignores a finalized height that lags far behind the other for long', async () => {
    const lags: FinalityLag[] = [];
    let skewMs = 0;
    const readerOf = async (ageSeconds: number, change: Partial<EvmNetwork> = {}) =>
      createPatientReader(
        networkOf([await proxyOf(finalizedAt(to - 1)), await proxyOf(finalizedAt(to - 20, ageSeconds))], {
          finality: { staleSeconds: 600 },
          ...change,
        }),
        { onFinalityLag: (lag) => lags.push(lag), nowMs: () => performance.now() + skewMs },
      );
    expect((await (await readerOf(10)).finalized()).height).toBe(to - 20);
    expect(lags).toEqual([]);
    const reader = await readerOf(1_000);
    expect((await reader.finalized()).height).toBe(to - 20);
    expect(lags).toMatchObject([{ height: to - 20, source: hostOf(proxies.at(-1)!) }]);
    skewMs += 61_000;
    expect((await reader.finalized()).height).toBe(to - 1);
    const strict = await readerOf(1_000, { aloneAfterSeconds: 'never' });
    await strict.finalized();
    const safe = await readerOf(1_000, { finality: { tag: 'safe', staleSeconds: 600 } });
    await safe.finalized();
    skewMs += 1e9;
    expect((await strict.finalized()).height).toBe(to - 20);
    expect((await safe.finalized()).height).toBe(to - 20);
  });
});

describe('a range beyond a node’s head', () => {
  const beyond: readonly (readonly [string, number, string])[] = [
    ['geth 1.17', -32602, 'block range extends beyond current head block'],
    ['besu', -32000, 'block not found'],
    ['erigon, by hash', -32000, 'header for hash not found'],
  ];

  it.each(beyond)('does not treat a range beyond the head as empty: %s', async (_, code, message) => {
    const late = refuse('eth_getLogs', { code, message });
    await expect(
      createPatientReader(networkOf([await proxyOf(late)])).readSeen(from, to),
    ).rejects.toMatchObject({
      code: 'BLOCK_NOT_FOUND',
      retryable: true,
    });
    const reader = createPatientReader(networkOf([await proxyOf(late), await proxyOf()]));
    expect(await reader.readSeen(from, to)).toMatchObject(truth);
    // Another source has it, but a single one is not accepted.
    await expect(reader.readVerified(from, to, [])).rejects.toMatchObject({ code: 'BLOCK_NOT_FOUND' });
    const third = createPatientReader(networkOf([await proxyOf(late), await proxyOf(), await proxyOf()]));
    expect(await third.readVerified(from, to, [])).toMatchObject(truth);
  });
});

describe('a range that a provider rejects as too large', () => {
  const wordings: readonly (readonly [string, number, (cap: number) => string])[] = [
    [
      'Alchemy',
      -32600,
      (cap) =>
        `Under the Free tier plan, you can make eth_getLogs requests with up to a ${cap} block range. Based on your parameters, this block range should work: [0x1, 0x${cap.toString(16)}].`,
    ],
    ['-32005', -32005, () => 'query returned more than 10000 results'],
    ['size', -32008, () => 'Response is too big: log response size exceeded'],
  ];

  it.each(wordings)('reads a range that is too large in parts: %s', async (_, code, wording) => {
    const cap = 4;
    const capped: Override = async ({ method, params }) => {
      const { fromBlock, toBlock } = (params[0] ?? {}) as { fromBlock?: string; toBlock?: string };
      if (method !== 'eth_getLogs' || Number(toBlock) - Number(fromBlock) < cap) return undefined;
      return { error: { code, message: wording(cap) } };
    };
    const reader = createPatientReader(networkOf([await proxyOf(capped), await proxyOf(capped)]));
    expect(await reader.readSeen(from, to)).toMatchObject(truth);
    expect(await reader.readVerified(from, to, [])).toMatchObject(truth);
  });

  it('reads a single block that is too large by receipts', async () => {
    for (const bloom of [true, false]) {
      const sources = [
        await proxyOf(undefined, { resultCapLogs: 1 }),
        await proxyOf(undefined, { resultCapLogs: 1 }),
      ];
      const reader = createPatientReader(networkOf(sources, { bloom }));
      expect(await reader.readSeen(from, to)).toMatchObject(truth);
      expect(await reader.readVerified(from, to, [])).toMatchObject(truth);
    }
  });
});

describe('a network whose blooms cover other blocks (Avalanche)', () => {
  const empty: Override = async ({ method, params }, honest) => {
    if (!method.startsWith('eth_getBlockBy')) return undefined;
    const block = (await honest({ method, params })) as object | null;
    return { result: block && { ...block, logsBloom: `0x${'00'.repeat(256)}` } };
  };

  it('reads a network without usable blooms from one and two sources', async () => {
    const short = { faults: { droppedLog: 1 } };
    for (const sources of [
      [await proxyOf(empty)],
      [await proxyOf(empty), await proxyOf(empty)],
      [await proxyOf(empty), await proxyOf(empty, short)],
      [await proxyOf(empty, short), await proxyOf(empty)],
    ]) {
      const reader = createPatientReader(networkOf(sources, { bloom: false }));
      expect(await reader.readVerified(from, to, [])).toMatchObject(truth);
    }
    const reader = createPatientReader(networkOf([await proxyOf(empty)], { bloom: false }));
    expect(await reader.readSeen(from, to)).toMatchObject(truth);
  });
});

describe('the native coin of two sources', () => {
  const coin = (): Partial<EvmNetwork> => ({
    tokens: [...chain.network.tokens, { ...chain.network.tokens[0]!, symbol: 'ETH', contract: null }],
  });
  const inflated: Override = async ({ method, params }, honest) => {
    if (method !== 'eth_getBlockByNumber' || params[1] !== true) return undefined;
    const block = (await honest({ method, params })) as { transactions: object[] } | null;
    return {
      result: block && { ...block, transactions: block.transactions.map((tx) => ({ ...tx, value: '0x5' })) },
    };
  };

  it('stops the verified pass when two sources differ on native transfers', async () => {
    for (const sources of [
      [await proxyOf(), await proxyOf(inflated)],
      [await proxyOf(inflated), await proxyOf()],
    ]) {
      const reader = createPatientReader(networkOf(sources, coin()));
      await expect(reader.readVerified(from, to, [])).rejects.toMatchObject({
        code: 'INCONSISTENT_ANSWER',
        context: { outcome: 'CONTENTS_DIFFER' },
      });
    }
  });

  it('refutes native transfers that a source invents in the seen pass', async () => {
    const reader = createPatientReader(networkOf([await proxyOf(inflated)], coin()));
    const { transfers } = await reader.readSeen(to, to);
    const natives = transfers.filter(({ contract }) => contract === null);
    expect(natives).toHaveLength(2);
    expect(await reader.confirmTransfers(natives)).toEqual({ confirmed: [], refuted: natives });
  });

  it('requests no transactions where native coin is not configured', async () => {
    const asked: unknown[] = [];
    const watching: Override = async ({ method, params }) => {
      if (method.startsWith('eth_getBlockBy')) asked.push(params[1]);
      return undefined;
    };
    const reader = createPatientReader(networkOf([await proxyOf(watching), await proxyOf(watching)]));
    await reader.readSeen(from, to);
    await reader.readVerified(from, to, []);
    expect(new Set(asked)).toEqual(new Set([false]));
  });
});
