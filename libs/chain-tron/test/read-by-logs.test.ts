import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { startTronDevnet, type TronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import {
  createByzantineTronProxy,
  type AskedOfTron,
  type ByzantineTronProxy,
} from '@opentill/testkit/byzantine-tron-proxy';
import { createTronReader, type TronReaderDeps } from '../src/reader.ts';
import { networkOf, walletsOf } from './tron-harness.ts';

const LAG = 3;
const BLOCKS = 6;
const HOLDER = 'TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH' as Address;
let devnet: TronDevnet;
let proxies: readonly ByzantineTronProxy[];
let first: number;
type WrongAnswer = (asked: AskedOfTron, honest: () => Promise<unknown>) => Promise<unknown>;
let wrongAnswers: Partial<Record<number, WrongAnswer>> = {};

beforeAll(async () => {
  devnet = await startTronDevnet({ blockTimeMs: 0, solidLagBlocks: LAG });
  await pay(BLOCKS);
  first = devnet.control.summary().head + 1;
  await pay(BLOCKS);
  await devnet.control.mine(LAG);
  proxies = await Promise.all(
    [0, 1].map((place) =>
      createByzantineTronProxy({
        upstreamUrl: devnet.url,
        seed: place,
        override: (asked, honest) => wrongAnswers[place]?.(asked, honest) ?? Promise.resolve(undefined),
      }),
    ),
  );
});
afterEach(() => {
  wrongAnswers = {};
});
afterAll(async () => {
  for (const proxy of proxies) await proxy.close();
  await devnet.close();
});

async function pay(blocks: number): Promise<void> {
  for (let block = 0; block < blocks; block += 1)
    await devnet.control.fund(HOLDER, { symbol: 'USDT', amountBaseUnits: 1n });
}

interface Opened extends TronReaderDeps {
  readonly recipients?: readonly Address[];
  readonly hot?: Address;
}

function openReader({ recipients = [HOLDER], hot = HOLDER, ...deps }: Opened = {}) {
  const methods: string[] = [];
  const asked: number[] = [];
  const reader = createTronReader(
    networkOf(devnet, [devnet.tokens.USDT], { rpcUrls: proxies.map(({ url }) => url) }),
    {
      requestTimeoutMs: 20_000,
      onExchange: ({ methods: [method] }) => void methods.push(method),
      watched: {
        async recipients(max) {
          asked.push(max);
          return recipients.length > max ? undefined : recipients;
        },
        hotWallets: async () => new Set([hot]),
      },
      ...deps,
    },
  );
  const isWhole = (): boolean => methods.some((method) => method.endsWith('getblockbynum'));
  /** Reads the first blocks whole, which shows that both nodes have an index of logs. */
  const prove = async (): Promise<void> => {
    await reader.readVerified(first - BLOCKS, first - 1, []);
    expect(isWhole()).toBe(true);
    methods.length = 0;
  };
  return { reader, methods, asked, isWhole, prove };
}
const last = (): number => first + BLOCKS - 1;
const ofJsonRpc =
  (change: (result: unknown, method: string) => unknown): WrongAnswer =>
  async ({ method, body }, honest) => {
    if (method !== 'jsonrpc') return undefined;
    const calls = body as unknown as readonly { readonly method: string }[];
    const answers = (await honest()) as readonly { readonly result: unknown }[];
    return answers.map((one, place) => ({ ...one, result: change(one.result, calls[place]!.method) }));
  };
const withoutLogs = ofJsonRpc((result) => (Array.isArray(result) ? [] : result));

test('finds the payments of a range by its logs, as in its blocks', async () => {
  const { reader, isWhole, prove } = openReader();
  await prove();
  const read = await reader.readVerified(first, last(), []);
  expect(isWhole()).toBe(false);
  expect(read.transfers).toHaveLength(BLOCKS);
  const byLogs = await reader.confirmTransfers(read.transfers, { headers: read.headers });
  const whole = createTronReader(networkOf(devnet, [devnet.tokens.USDT]), { requestTimeoutMs: 20_000 });
  const ofBlocks = await whole.readVerified(first, last(), []);
  expect(read.headers).toEqual(ofBlocks.headers);
  const ours = ofBlocks.transfers.filter(({ to }) => to === HOLDER);
  const expected = await whole.confirmTransfers(ours, { headers: ofBlocks.headers });
  const plain = ({ confirmed }: typeof expected) =>
    confirmed.map((transfer) => ({ ...transfer, indexInBlock: 0 }));
  expect(plain(byLogs)).toEqual(plain(expected));
});

test('shows payments by the logs of one source with two requests', async () => {
  const { reader, methods } = openReader();
  const head = await reader.head();
  await pay(1);
  await reader.head();
  methods.length = 0;
  const { transfers, headers } = await reader.readSeen(head.height + 1, head.height + 1);
  expect(methods).toEqual(['jsonrpc']);
  const { confirmed } = await reader.confirmTransfers(transfers, { headers, byOneSource: true });
  expect(confirmed).toMatchObject([{ to: HOLDER, position: 'log:0' }]);
  expect(methods).toEqual(['jsonrpc', 'wallet/gettransactioninfobyid']);
  await devnet.control.mine(LAG);
});

test('reads a block whole if one source leaves out its log', async () => {
  const { reader, methods, prove } = openReader();
  await prove();
  wrongAnswers[1] = ofJsonRpc((result) => (Array.isArray(result) ? result.slice(1) : result));
  const { transfers } = await reader.readVerified(first, last(), []);
  expect(transfers.filter(({ to }) => to === HOLDER)).toHaveLength(BLOCKS);
  expect(methods.filter((method) => method.endsWith('getblockbynum'))).toHaveLength(2);
});

test('reads blocks whole where neither source has an index of logs', async () => {
  const { reader, isWhole } = openReader();
  wrongAnswers = { 0: withoutLogs, 1: withoutLogs };
  for (const from of [first - BLOCKS, first]) {
    const { transfers } = await reader.readVerified(from, from + BLOCKS - 1, []);
    expect(transfers.filter(({ to }) => to === HOLDER)).toHaveLength(BLOCKS);
  }
  expect(isWhole()).toBe(true);
});

test('reads a block whole if both sources leave out a recorded transfer', async () => {
  const { reader, prove } = openReader();
  await prove();
  const { transfers } = await reader.readVerified(first, last(), []);
  wrongAnswers = { 0: withoutLogs, 1: withoutLogs };
  const again = await reader.readVerified(first, last(), transfers.slice(2, 3));
  expect(again.transfers).toMatchObject([{ txHash: transfers[2]!.txHash, to: HOLDER }]);
});

test('reads blocks whole while a hot wallet sends transactions', async () => {
  const [, wallet] = walletsOf(devnet);
  const hot = wallet!.defaultAddress.base58 as Address;
  const { reader, isWhole, prove } = openReader({ hot });
  await prove();
  const sent = await wallet!.trx.sendTransaction(devnet.accounts[0]!.address, 1);
  const { head } = await devnet.control.mine();
  await devnet.control.mine(LAG);
  const { actsOf } = await reader.readVerified(head, head, []);
  expect(isWhole()).toBe(true);
  expect(actsOf?.(new Set([hot]))).toMatchObject([{ wallet: hot, txHash: sent.transaction.txID }]);
});

test('asks for all transfers where the list of recipients is longer', async () => {
  const recipients = Array.from({ length: 1_001 }, () => HOLDER);
  const { reader, asked, prove, isWhole } = openReader({ recipients });
  await prove();
  const { transfers } = await reader.readVerified(first, first, []);
  expect([asked.at(-1), transfers.length, isWhole()]).toEqual([1_000, 1, false]);
});

test('asks another source if the node that returns the logs is behind', async () => {
  const { reader } = openReader();
  wrongAnswers[0] = ofJsonRpc((result, method) => (method === 'eth_blockNumber' ? '0x1' : result));
  const { transfers } = await reader.readSeen(first, first);
  expect(transfers).toHaveLength(1);
});

test('reports a node without JSON-RPC and reads its blocks whole', async () => {
  const findings: unknown[] = [];
  const { reader, isWhole } = openReader({ onFinding: ({ kind }) => void findings.push(kind) });
  const none: WrongAnswer = ({ method }) =>
    Promise.resolve(method === 'jsonrpc' ? { Error: 'no such endpoint' } : undefined);
  wrongAnswers = { 0: none, 1: none };
  await reader.checkNetwork();
  expect(findings).toEqual(['LOGS_MISSING', 'LOGS_MISSING']);
  expect((await reader.readSeen(first, first)).transfers).not.toEqual([]);
  expect(isWhole()).toBe(true);
  expect(reader.sources?.().map(({ lastErrorCode }) => lastErrorCode)).toEqual([null, null]);
});
