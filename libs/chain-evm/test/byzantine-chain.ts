import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHeader } from '@opentill/chain/block';
import type { ChainReader, RangeRead } from '@opentill/chain/chain-reader';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { ByzantineRpcProxy, RpcFault } from '@opentill/testkit/byzantine-rpc-proxy';
import { createByzantineRpcProxy } from '@opentill/testkit/byzantine-rpc-proxy';
import type { RpcExchange } from '../src/client.ts';
import type { EvmReaderDeps } from '../src/reader.ts';
import { createPatientReader, readWhole } from './patient-reader.ts';
import type { EvmHarness } from './evm-harness.ts';
import { makeEvmHarness } from './evm-harness.ts';

/*
 * What a single source can hide, so that no test here expects its detection (two-sources.test.ts covers two). In the
 * seen pass: any logs but those of the last block; where it reads a new branch, one log of a block of which other logs
 * are answered (`droppedLog`), and without bloom (Avalanche) all logs of a block. The verified pass reads the receipts of
 * such blocks. In both passes: logs, bloom and receipts of an
 * invented chain, or of a branch that only this node follows; a log omitted from logs and receipts, with a matching
 * header.
 */
const REVEALED: readonly RpcFault[] = [
  'connectionReset',
  'truncatedJson',
  'unavailable',
  'delayed',
  'laggingNode',
  'answerMissing',
  'internalError',
  'wrongChainId',
  'laggingLogs',
  'falseEmpty',
  'droppedBlockOfLogs',
  'duplicatedLog',
  'orphanedLog',
  'receiptMissing',
  'blockReceiptsShort',
];

type ProxyOptions = Omit<Parameters<typeof createByzantineRpcProxy>[0], 'upstreamUrl' | 'seed'> & {
  seed?: number;
};

export interface ByzantineChain {
  readonly chain: EvmHarness;
  /** The node's own answer for all blocks. */
  readonly truth: RangeRead;
  /** Headers of all blocks, from the node itself. */
  readonly headers: readonly BlockHeader[];
  readonly from: number;
  readonly to: number;
  /** Every third block pays this address, twice in one transaction. */
  readonly payee: Address;
  proxyOf(options: ProxyOptions): Promise<ByzantineRpcProxy>;
  readerOf(proxy: ByzantineRpcProxy, deps?: EvmReaderDeps, bloom?: boolean): ChainReader;
}

/** Set up before the file's tests and stopped after them; its fields are available only in tests. */
export function useByzantineChain(): ByzantineChain {
  let chain: EvmHarness;
  let truth: RangeRead;
  let headers: readonly BlockHeader[];
  let from: number;
  let to: number;
  let payee: Address;
  let proxies: ByzantineRpcProxy[] = [];

  beforeAll(async () => {
    chain = await makeEvmHarness();
    payee = chain.newAddress();
    for (let block = 0; block < 60; block += 1) {
      for (let count = 0; count < block % 4; count += 1) {
        await chain.submit([
          { kind: 'transfer', token: 0, to: chain.newAddress(), amount: BigInt(block + 1) },
          { kind: 'otherEvent' },
        ]);
      }
      const pay = { kind: 'transfer', token: 1, to: payee, amount: BigInt(block + 1) } as const;
      if (block % 3 === 0) await chain.submit([pay, { ...pay, amount: 1n }]);
      to = await chain.mine();
    }
    from = to - 59;
    truth = await readWhole(chain.reader, from, to);
    headers = await chain.reader.headers(from, to);
    expect(truth.transfers.filter((transfer) => transfer.to === payee)).toHaveLength(40);
  });
  afterEach(async () => {
    await Promise.all(proxies.map((proxy) => proxy.close()));
    proxies = [];
  });
  afterAll(() => chain.stop());

  return {
    get chain() {
      return chain;
    },
    get truth() {
      return truth;
    },
    get headers() {
      return headers;
    },
    get from() {
      return from;
    },
    get to() {
      return to;
    },
    get payee() {
      return payee;
    },
    async proxyOf(options) {
      const proxy = await createByzantineRpcProxy({ upstreamUrl: chain.url, seed: 1, ...options });
      proxies.push(proxy);
      return proxy;
    },
    readerOf: (proxy, deps = {}, bloom = true) =>
      createPatientReader({ ...chain.network, rpcUrls: [proxy.url], bloom }, deps),
  };
}

/** Every failure must be a reader's own error. */
async function retryUntilSuccess<T>(attempt: () => Promise<T>): Promise<{ result: T; failures: string[] }> {
  const failures: string[] = [];
  for (let count = 0; count < 400; count += 1) {
    try {
      return { result: await attempt(), failures };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      failures.push(error.code);
      const { retryAfterMs } = error.context;
      if (typeof retryAfterMs === 'number') await delay(retryAfterMs);
    }
  }
  throw new Error(`no answer in 400 attempts: ${failures.slice(-10).join()}`);
}

/** Continues until each fault occurred: the reader must return only the truth. */
export async function readDespiteAllFaults(shared: ByzantineChain, seed: number): Promise<void> {
  const { chain, truth, headers, from, to, payee, proxyOf, readerOf } = shared;
  const rare: Partial<Record<RpcFault, number>> = Object.fromEntries(REVEALED.map((fault) => [fault, 0.03]));
  // Rates per call; a request has many. Some faults occur only after others, or only near the head.
  const faults: Partial<Record<RpcFault, number>> = {
    ...rare,
    rateLimited: 0.002,
    internalError: 0.006,
    wrongChainId: 0.3,
    laggingLogs: 0.5,
    laggingNode: 0.1,
  };
  const proxy = await proxyOf({ seed, faults, delayMs: 700, rangeCapBlocks: 15, resultCapLogs: 60 });
  const exchanges: RpcExchange[] = [];
  const reader = readerOf(proxy, {
    requestTimeoutMs: 500,
    onExchange: (exchange) => exchanges.push(exchange),
  });
  const ours = truth.transfers.filter((transfer) => transfer.to === payee);
  const proven = (await chain.reader.confirmTransfers(ours)).confirmed;
  let failures = 0;
  // Real timeouts shift the sequence of faults.
  const missing = () => REVEALED.filter((fault) => proxy.injected[fault] === undefined);
  for (let round = 0; round < 60 && (missing().length > 0 || failures <= 20); round += 1) {
    const oftener = missing().map((fault) => [fault, Math.min(1, (1 + round) * (faults[fault] ?? 0))]);
    proxy.setFaults({ ...faults, ...Object.fromEntries(oftener) });
    for (let first = from; first <= to; first += 15) {
      const last = Math.min(to, first + 14);
      const inRange = ({ blockHeight }: { blockHeight: number }): boolean =>
        blockHeight >= first && blockHeight <= last;
      const expected = truth.transfers.filter(inRange);
      const seen = await retryUntilSuccess(() => reader.readSeen(first, last, { everyBlock: true }));
      expect(seen.result.transfers).toEqual(expected);
      expect(seen.result.headers).toEqual(headers.slice(first - from, last - from + 1));
      const verified = await retryUntilSuccess(() =>
        reader.readVerified(first, last, proven.filter(inRange), { headersAt: [first] }),
      );
      const { below } = seen.result;
      const asked = [...new Set([first, last])].map((height) => headers[height - from]);
      expect(verified.result).toMatchObject({ headers: asked, below, transfers: expected });
      const confirmed = await retryUntilSuccess(() => reader.confirmTransfers(ours.filter(inRange)));
      expect(confirmed.result).toMatchObject({ confirmed: proven.filter(inRange), refuted: [] });
      failures += seen.failures.length + verified.failures.length + confirmed.failures.length;
    }
  }
  expect(missing()).toEqual([]);
  expect(failures).toBeGreaterThan(20);
  expect(exchanges.some((exchange) => exchange.outcome === 'OK')).toBe(true);
}
