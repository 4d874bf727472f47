import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import type { ChainReader } from '@opentill/chain/chain-reader';
import { bloomBits } from '../src/bloom.ts';
import { TRANSFER_TOPIC } from '../src/decode.ts';
import type { EvmNetwork, EvmReaderDeps } from '../src/reader.ts';
import { createPatientReader } from './patient-reader.ts';
import type { Call, ScriptedNode } from './scripted-node.ts';
import { answering, refusing, scriptedNode } from './scripted-node.ts';

/*
 * One of two sources is Byzantine but consistent: its headers, blooms, logs and receipts match each other. The reader
 * must not accept what it invents nor miss what it omits, whichever of the two it asks first.
 */

const TOKEN = `0x${'11'.repeat(20)}`;
const PAYEE = `0x${'aa'.repeat(20)}`;
const PAYER = `0x${'bb'.repeat(20)}`;
const LENGTH = 100;
const BLOCK_SECONDS = 12;
const LOOT = 1_000_000n;

interface Tx {
  readonly hash: string;
  readonly amounts: readonly bigint[];
}
interface Block {
  readonly height: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timeSeconds: number;
  readonly txs: readonly Tx[];
  /** Where it differs from the transactions. */
  readonly bloomOf?: readonly Tx[];
}
type Chain = readonly Block[];

const hashOf = (text: string): string => `0x${createHash('sha256').update(text).digest('hex')}`;
const word = (hex: string): string => `0x${hex.slice(2).padStart(64, '0')}`;
const quantity = (value: number): string => `0x${value.toString(16)}`;
const STARTED_AT_MS = Date.now();
const nowSeconds = (): number => Math.floor(STARTED_AT_MS / 1_000);

function childOf(
  parent: Block | undefined,
  tag: string,
  amounts: readonly bigint[],
  seconds = BLOCK_SECONDS,
): Block {
  const height = (parent?.height ?? -1) + 1;
  return {
    height,
    hash: hashOf(`${tag}${height}`),
    parentHash: parent?.hash ?? hashOf('none'),
    timeSeconds: parent === undefined ? nowSeconds() - LENGTH * BLOCK_SECONDS : parent.timeSeconds + seconds,
    txs: amounts.map((amount, place) => ({ hash: hashOf(`${tag}${height}/${place}`), amounts: [amount] })),
  };
}

function chainOf(
  blocks = LENGTH,
  base: Chain = [],
  tag = 'honest',
  amounts = [1n, 2n],
  seconds?: number,
): Chain {
  const chain = [...base];
  for (let count = 0; count < blocks; count += 1) chain.push(childOf(chain.at(-1), tag, amounts, seconds));
  return chain;
}

const HONEST = chainOf();
const HEAD = HONEST.at(-1)!;
const changed = (height: number, change: (block: Block) => Partial<Block>, chain: Chain = HONEST): Chain =>
  chain.map((block) => (block.height === height ? { ...block, ...change(block) } : block));

/** The second transaction of the block has an additional log. */
const withLoot = (block: Block): Partial<Block> => ({
  txs: block.txs.map((tx, place) => (place === 1 ? { ...tx, amounts: [...tx.amounts, LOOT] } : tx)),
});

function bloomOf(txs: readonly Tx[]): string {
  const bytes = Buffer.alloc(256);
  if (txs.some(({ amounts }) => amounts.length > 0))
    for (const value of [TOKEN, TRANSFER_TOPIC, word(PAYER), word(PAYEE)])
      for (const bit of bloomBits(value)) bytes[255 - (bit >> 3)]! |= 1 << (bit & 7);
  return `0x${bytes.toString('hex')}`;
}

function logsOf({ txs, hash, height }: Block): readonly (readonly object[])[] {
  let index = 0;
  return txs.map((tx, place) =>
    tx.amounts.map((amount) => ({
      address: TOKEN,
      topics: [TRANSFER_TOPIC, word(PAYER), word(PAYEE)],
      data: word(quantity(Number(amount))),
      blockHash: hash,
      blockNumber: quantity(height),
      transactionHash: tx.hash,
      transactionIndex: quantity(place),
      logIndex: quantity(index++),
      removed: false,
    })),
  );
}

const receiptOf = (block: Block, place: number): object => ({
  transactionHash: block.txs[place]!.hash,
  blockHash: block.hash,
  blockNumber: quantity(block.height),
  status: '0x1',
  type: '0x2',
  gasUsed: '0x1',
  effectiveGasPrice: '0x1',
  from: PAYER,
  to: TOKEN,
  logs: logsOf(block)[place],
});

interface View {
  readonly chain: Chain;
  readonly finalized?: Block;
  readonly twist?: (call: Call, result: unknown, calls: readonly Call[]) => unknown;
}

function resultOf({ chain, finalized }: View, { method, params }: Call): unknown {
  const answerBlock = (block: Block | undefined): object | null =>
    block === undefined
      ? null
      : {
          number: quantity(block.height),
          hash: block.hash,
          parentHash: block.parentHash,
          timestamp: quantity(block.timeSeconds),
          logsBloom: bloomOf(block.bloomOf ?? block.txs),
          transactions: block.txs.map(({ hash }) => hash),
        };
  const [first] = params;
  const byHash = chain.find(({ hash }) => hash === first);
  switch (method) {
    case 'eth_getBlockByNumber':
      if (first === 'latest') return answerBlock(chain.at(-1));
      return answerBlock(first === 'finalized' ? (finalized ?? chain.at(-20)) : chain[Number(first)]);
    case 'eth_getBlockByHash':
      return answerBlock(byHash);
    case 'eth_getLogs': {
      const filter = first as { fromBlock?: string; toBlock?: string; blockHash?: string };
      const isAsked = ({ height, hash }: Block): boolean =>
        filter.blockHash === undefined
          ? height >= Number(filter.fromBlock) && height <= Number(filter.toBlock)
          : hash === filter.blockHash;
      return chain.filter(isAsked).flatMap((block) => logsOf(block).flat());
    }
    case 'eth_getBlockReceipts':
      return byHash === undefined ? null : byHash.txs.map((_, place) => receiptOf(byHash, place));
    case 'eth_getTransactionReceipt':
      for (const block of chain) {
        const place = block.txs.findIndex(({ hash }) => hash === first);
        if (place >= 0) return receiptOf(block, place);
      }
      return null;
    default:
      throw new Error(`no answer is scripted for ${method}`);
  }
}

let nodes: ScriptedNode[] = [];
afterEach(async () => {
  await Promise.all(nodes.map((node) => node.close()));
  nodes = [];
});

async function nodeOf(view: View): Promise<ScriptedNode> {
  const node = await scriptedNode((calls, isBatch) =>
    answering((call) => {
      const result = resultOf(view, call);
      return view.twist === undefined ? result : view.twist(call, result, calls);
    }, '0x1')(calls, isBatch),
  );
  nodes.push(node);
  return node;
}

const NETWORK: Omit<EvmNetwork, 'rpcUrls'> = {
  chain: 'ETH',
  chainId: 1,
  bloom: true,
  maxBlockRange: 50,
  blockTimeMs: BLOCK_SECONDS * 1_000,
  tokens: [
    { symbol: 'USDT', contract: TOKEN, decimals: 6, displayDecimals: 2, minAmount: null, maxAmount: null },
  ],
};

const readerOf = (
  sources: readonly ScriptedNode[],
  change: Partial<EvmNetwork> = {},
  deps: EvmReaderDeps = {},
): ChainReader =>
  createPatientReader({ ...NETWORK, rpcUrls: sources.map(({ url }) => url), ...change }, deps);

/** Runs `work` with the Byzantine source first, then with the honest one first. */
async function withHonest(
  byzantineNode: View,
  work: (reader: ChainReader) => Promise<void>,
  change: Partial<EvmNetwork> = {},
  honest: View = { chain: HONEST },
): Promise<void> {
  const pair = [await nodeOf(byzantineNode), await nodeOf(honest)];
  await work(readerOf(pair, change));
  await work(readerOf(pair.toReversed(), change));
}

const REJECTED = { code: 'INCONSISTENT_ANSWER', retryable: true };
const expectRejected =
  (from: number, to: number, error: object = REJECTED) =>
  async (reader: ChainReader) => {
    for (let round = 0; round < 3; round += 1)
      await expect(reader.readVerified(from, to, [])).rejects.toMatchObject(error);
  };

describe('a consistent Byzantine source next to an honest one', () => {
  it('rejects a payment that one source adds with matching receipts', async () => {
    const invented = changed(50, (block) => ({ ...withLoot(block), bloomOf: block.txs }));
    await withHonest({ chain: invented }, expectRejected(48, 52));
    await withHonest({ chain: invented }, expectRejected(48, 52), { bloom: false });
  });

  it('finds a payment that one source hides, with matching receipts and bloom', async () => {
    const emptied = changed(50, ({ txs }) => ({ txs: txs.map((tx) => ({ ...tx, amounts: [] })) }));
    const noLogs = changed(50, ({ txs }) => ({ txs: txs.slice(0, 1) }));
    for (const chain of [emptied, noLogs])
      for (const bloom of [true, false])
        for (const [from, to] of [
          [50, 50],
          [48, 50],
          [50, 52],
          [48, 52],
        ] as const)
          await withHonest({ chain }, expectRejected(from, to), { bloom });
  });

  it('rejects a payment invented in an empty block with a matching bloom', async () => {
    const quiet = changed(50, () => ({ txs: [{ hash: hashOf('quiet'), amounts: [] }] }));
    const loud = changed(50, ({ txs }) => ({ txs: [{ ...txs[0]!, amounts: [LOOT] }], bloomOf: txs }), quiet);
    await withHonest({ chain: loud }, expectRejected(48, 52), {}, { chain: quiet });
    // A single source's receipts must match its own bloom as well.
    const twist: View['twist'] = ({ method }, result) => {
      if (method !== 'eth_getBlockReceipts') return result;
      const [first, ...others] = result as { logs: { topics: string[] }[] }[];
      const logs = first!.logs.map((log) => ({
        ...log,
        topics: [...log.topics.slice(0, 2), word(`0x${'cc'.repeat(20)}`)],
      }));
      return [{ ...first, logs }, ...others];
    };
    const single = readerOf([await nodeOf({ chain: HONEST, twist })]);
    await expect(single.readVerified(50, 50, [])).rejects.toMatchObject({
      message: /a log is not in the bloom/,
    });
  });

  it('rejects blocks that one source adds on top of the chain', async () => {
    const longer = chainOf(12, HONEST, 'invented', [LOOT], 1);
    const top = { code: 'BLOCK_NOT_FOUND', retryable: true };
    await withHonest({ chain: longer }, expectRejected(HEAD.height + 1, HEAD.height + 1, top));
    await withHonest({ chain: longer }, expectRejected(HEAD.height - 1, HEAD.height + 1, top));
    await withHonest({ chain: longer }, expectRejected(HEAD.height - 1, HEAD.height + 1, top), {
      bloom: false,
    });
    await withHonest({ chain: longer }, async (reader) => {
      await expect(reader.confirmBlock(longer.at(-1)! as never)).rejects.toMatchObject(top);
      await reader.confirmBlock(HEAD as never);
    });
  });

  it('confirms no block of a branch that only one source shows', async () => {
    const branch = chainOf(21, HONEST.slice(0, 80), 'branch', []);
    await withHonest({ chain: branch }, async (reader) => {
      await expect(reader.confirmBlock(branch[85]! as never)).rejects.toMatchObject(REJECTED);
      await expect(reader.confirmBlock(HONEST[85]! as never)).rejects.toMatchObject(REJECTED);
      await reader.confirmBlock(HONEST[79]! as never);
    });
  });

  it('does not accept a block that only one source reports as final', async () => {
    const views: readonly Block[] = [
      { ...HEAD, timeSeconds: HEAD.timeSeconds + 100_000 },
      HEAD,
      { ...HEAD, hash: hashOf('another') },
    ];
    for (const finalized of views) {
      await withHonest(
        { chain: HONEST, finalized },
        async (reader) => expect(await reader.finalizedHeight()).toBe(60),
        { finality: { staleSeconds: 60 } },
        { chain: HONEST, finalized: HONEST[60]! },
      );
    }
  });

  it('does not accept one source’s final block, however long the other stalls', async () => {
    let skewMs = 0;
    const pair = [
      await nodeOf({ chain: HONEST, finalized: { ...HEAD, hash: hashOf('another') } }),
      await nodeOf({ chain: HONEST, finalized: HONEST[60]! }),
    ];
    const reader = readerOf(pair, { finality: { staleSeconds: 60 } }, { nowMs: () => skewMs });
    for (; skewMs < 600_000; skewMs += 50_000) expect(await reader.finalizedHeight()).toBe(60);
  });

  it('rejects block times that one source shifts', async () => {
    const shifted = HONEST.map((block) => ({ ...block, timeSeconds: block.timeSeconds + 86_400 }));
    await withHonest({ chain: shifted }, expectRejected(48, 50));
    const earlier = HONEST.map((block) => ({ ...block, timeSeconds: block.timeSeconds - 600 }));
    await withHonest({ chain: earlier }, expectRejected(48, 50));
    await withHonest({ chain: earlier }, expectRejected(50, 50));
    // Only in requests that go to a single source: the first to answer, so both shift them there.
    const twist: View['twist'] = ({ method }, result, calls) =>
      method === 'eth_getBlockByNumber' && calls.every((call) => call.method === method)
        ? { ...(result as object), timestamp: quantity(1) }
        : result;
    await withHonest({ chain: HONEST, twist }, expectRejected(48, 50), {}, { chain: HONEST, twist });
    const falling = changed(49, () => ({ timeSeconds: HONEST[51]!.timeSeconds }));
    await expectRejected(48, 52)(readerOf([await nodeOf({ chain: falling })]));
  });

  it('rejects a shifted time of one block with a payment between correct blocks', async () => {
    for (const [height, seconds] of [
      [49, 11],
      [49, -12],
    ] as const) {
      const shifted = changed(height, ({ timeSeconds }) => ({ timeSeconds: timeSeconds + seconds }));
      const compared: string[] = [];
      const deps: EvmReaderDeps = { onCompared: ({ outcome }) => compared.push(outcome) };
      const pair = [await nodeOf({ chain: shifted }), await nodeOf({ chain: HONEST })];
      for (const urls of [pair, pair.toReversed()]) {
        const reader = readerOf(urls, {}, deps);
        const { headers, transfers } = await reader.readVerified(48, 50, []);
        const confirming = reader.confirmTransfers(transfers, { headers });
        await expect(confirming).rejects.toMatchObject({ code: 'INCONSISTENT_ANSWER' });
        expect(compared.pop()).toBe('CONTENTS_DIFFER');
        const others = transfers.filter(({ blockHeight }) => blockHeight !== height);
        expect((await reader.confirmTransfers(others, { headers })).confirmed).toEqual(
          (await readerOf([pair[1]!]).confirmTransfers(others)).confirmed,
        );
      }
    }
  });

  it('rejects a changed position of a payment in its transaction', async () => {
    const twist: View['twist'] = ({ method }, result) => {
      if (method !== 'eth_getTransactionReceipt') return result;
      const receipt = result as { logs: { logIndex: string }[] };
      const [log] = receipt.logs;
      if (log?.logIndex !== '0x1') return result;
      const before = { ...log, logIndex: '0x0', address: `0x${'99'.repeat(20)}` };
      return { ...receipt, logs: [before, ...receipt.logs] };
    };
    await withHonest({ chain: HONEST, twist }, async (reader) => {
      const { transfers } = await reader.readVerified(50, 50, []);
      expect(transfers.map(({ amountBaseUnits }) => amountBaseUnits)).toEqual([1n, 2n]);
      await expect(reader.confirmTransfers(transfers)).rejects.toMatchObject(REJECTED);
      // The seen pass does not credit, so it does not wait.
      expect((await reader.confirmTransfers(transfers, { byOneSource: true })).confirmed).toHaveLength(2);
    });
  });

  it('verifies blocks on which the Byzantine source agrees without delay', async () => {
    await withHonest({ chain: changed(50, withLoot) }, async (reader) => {
      const { transfers } = await reader.readVerified(51, 60, []);
      expect(transfers).toHaveLength(20);
      expect((await reader.confirmTransfers(transfers)).confirmed).toHaveLength(20);
    });
  });
});

describe('a consistent Byzantine source while the honest one fails', () => {
  const byzantine: View = { chain: changed(50, (block) => ({ ...withLoot(block), bloomOf: block.txs })) };

  /** The honest source first, and a clock that moves only by `pass`. */
  async function failing(change: Partial<EvmNetwork> = {}) {
    const [honest, byzantineNode] = [await nodeOf({ chain: HONEST }), await nodeOf(byzantine)];
    const script = honest.script;
    let skewMs = 0;
    const single: { readonly label: string; readonly sinceSeconds: number }[] = [];
    const reader = readerOf([honest, byzantineNode], change, {
      onSingleSource: (source) => single.push(source),
      nowMs: () => skewMs,
      epochMs: () => STARTED_AT_MS + skewMs,
    });
    const read = async (): Promise<number | string> => {
      try {
        return (await reader.readVerified(50, 50, [])).transfers.length;
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    return {
      reader,
      read,
      single,
      byzantineNode,
      fails: () => (honest.script = refusing(-32000, 'down', 503)),
      limits: () => (honest.script = () => ({ status: 429, headers: { 'retry-after': '50' }, body: '' })),
      recovers: () => (honest.script = script),
      pass: (seconds: number) => (skewMs += seconds * 1_000),
    };
  }

  it('does not accept a single source while the other one is in backoff', async () => {
    const { reader, read, limits, single } = await failing();
    expect((await reader.readVerified(49, 49, [])).transfers).toHaveLength(2);
    limits();
    await expect(reader.readVerified(50, 50, [])).rejects.toMatchObject({ code: 'RPC_RATE_LIMITED' });
    // Then no source is asked, and the error names the delay.
    await expect(reader.readVerified(50, 50, [])).rejects.toMatchObject({
      code: 'RPC_UNAVAILABLE',
      context: { retryAfterMs: expect.any(Number) },
    });
    expect(await read()).toBe('RPC_UNAVAILABLE');
    expect(single).toEqual([]);
  });

  it('accepts a single source after an uninterrupted minute', async () => {
    const { reader, read, fails, recovers, pass, single, byzantineNode } = await failing();
    fails();
    expect(await read()).toBe('RPC_UNAVAILABLE');
    pass(50);
    expect(await read()).toBe('RPC_UNAVAILABLE');
    expect(reader.sources!()).toMatchObject([
      { isSingleSource: false },
      { isSingleSource: false, failingSinceSeconds: null },
    ]);
    const since = reader.sources!()[0]!.failingSinceSeconds!;
    recovers();
    pass(40);
    expect(await read()).toBe('INCONSISTENT_ANSWER');
    expect(reader.sources!()[0]).toMatchObject({ failingSinceSeconds: null });
    fails();
    expect(await read()).toBe('RPC_UNAVAILABLE');
    pass(50);
    expect(await read()).toBe('RPC_UNAVAILABLE');
    expect(single).toEqual([]);
    pass(40);
    expect((await reader.readVerified(49, 49, [])).transfers).toHaveLength(2);
    await reader.confirmBlock(HONEST[49]! as never);
    const label = new URL(byzantineNode.url).host;
    expect(single).toMatchObject([{ label }, { label }]);
    expect(single[0]!.sinceSeconds).toBeGreaterThan(since + 60);
    expect(reader.sources!().map(({ isSingleSource }) => isSingleSource)).toEqual([false, true]);
    recovers();
    pass(40);
    expect(await read()).toBe('INCONSISTENT_ANSWER');
    expect(reader.sources!().map(({ isSingleSource }) => isSingleSource)).toEqual([false, false]);
  });

  it('never accepts a single source with aloneAfterSeconds: never', async () => {
    const { read, fails, pass, single } = await failing({ aloneAfterSeconds: 'never' });
    fails();
    for (let hour = 0; hour < 3; hour += 1) {
      expect(await read()).toBe('RPC_UNAVAILABLE');
      pass(3_600);
    }
    expect(single).toEqual([]);
  });

  it('does not accept a source because it recovers first after a common outage', async () => {
    const { read, fails, pass, single, byzantineNode } = await failing();
    const script = byzantineNode.script;
    fails();
    byzantineNode.script = refusing(-32000, 'down', 503);
    for (let minute = 0; minute < 5; minute += 1) {
      expect(await read()).toBe('RPC_UNAVAILABLE');
      pass(60);
    }
    byzantineNode.script = script;
    expect(await read()).toBe('RPC_UNAVAILABLE');
    pass(30);
    expect(await read()).toBe('RPC_UNAVAILABLE');
    expect(single).toEqual([]);
  });

  it('accepts a single source next to a stopped node only after a minute', async () => {
    const old = HONEST.slice(0, 60);
    let skewMs = 0;
    const reader = readerOf(
      [await nodeOf({ chain: old }), await nodeOf({ chain: HONEST })],
      {},
      { nowMs: () => skewMs, epochMs: () => STARTED_AT_MS + skewMs },
    );
    const read = (): Promise<unknown> => reader.readVerified(80, 80, []);
    await expect(read()).rejects.toMatchObject({ code: 'BLOCK_NOT_FOUND' });
    skewMs += 59_000;
    await expect(read()).rejects.toMatchObject({ code: 'BLOCK_NOT_FOUND' });
    skewMs += 2_000;
    await expect(read()).resolves.toMatchObject({ transfers: [{}, {}] });
    expect((await reader.readVerified(50, 50, [])).transfers).toHaveLength(2);
  });
});
