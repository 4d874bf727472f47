import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { TxHash } from '@opentill/chain/transfer';
import { startTronDevnet, type TronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import {
  createByzantineTronProxy,
  type AskedOfTron,
  type ByzantineTronProxy,
} from '@opentill/testkit/byzantine-tron-proxy';
import { createTronReader, type TronReaderDeps } from '../src/reader.ts';
import { addressOfShortHex, shortHexOf } from '../src/address-codec.ts';
import { networkOf, walletsOf } from './tron-harness.ts';

const LAG = 3;
/** Each has one payment. */
const BLOCKS = 18;
/** Enough to choose beacons. */
const BLOCKS_BEFORE = 16;
const BACKOFF_MAX_MS = 600_000;
const FEE_LIMIT_SUN = 1_000_000_000;
const HOLDER = 'TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH' as Address;
/** Paid in every block. */
const STRANGERS = ['a', 'b'].map((digit) => addressOfShortHex(digit.repeat(40))!);
let devnet: TronDevnet;
let proxies: readonly ByzantineTronProxy[];
let first: number;
type WrongAnswer = (asked: AskedOfTron, honest: () => Promise<unknown>) => Promise<unknown>;
let wrongAnswers: Partial<Record<number, WrongAnswer>> = {};
/** Of each node; every block where it is absent. */
let indexes: Partial<Record<number, (height: number) => boolean>> = {};
const logsFrom = (first: number) => (height: number) => height >= first;
const logsUntil = (last: number) => (height: number) => height <= last;
const withoutLogs = (from: number, blocks: number) => (height: number) =>
  height < from || height >= from + blocks;

beforeAll(async () => {
  devnet = await startTronDevnet({ blockTimeMs: 0, solidLagBlocks: LAG });
  const head = await pay(STRANGERS[0]!, 1);
  await pay(STRANGERS[0]!, BLOCKS_BEFORE);
  first = head + BLOCKS_BEFORE + 1;
  await pay(HOLDER, BLOCKS);
  await pay(STRANGERS[0]!, LAG);
  proxies = await Promise.all(
    [0, 1].map(async (place) =>
      createByzantineTronProxy({
        upstreamUrl: await devnet.addNode((height) => indexes[place]?.(height) ?? true),
        seed: place,
        override: (asked, honest) => wrongAnswers[place]?.(asked, honest) ?? Promise.resolve(undefined),
      }),
    ),
  );
});
afterEach(() => {
  [wrongAnswers, indexes] = [{}, {}];
});
afterAll(async () => {
  for (const proxy of proxies) await proxy.close();
  await devnet.close();
});

/** One payment in each block, and two to strangers from two senders. Returns the last height. */
async function pay(to: Address, blocks: number): Promise<number> {
  for (let block = 0; block < blocks; block += 1) {
    for (const [place, stranger] of STRANGERS.entries()) {
      const wallet = walletsOf(devnet)[place + 1]!;
      const input = `a9059cbb${shortHexOf(stranger).padStart(64, '0')}${'1'.padStart(64, '0')}`;
      const { transaction } = await wallet.transactionBuilder.triggerSmartContract(
        devnet.tokens.USDT,
        '',
        { input, feeLimit: FEE_LIMIT_SUN },
        [],
        wallet.defaultAddress.hex as string,
      );
      const signed = await wallet.trx.sign(transaction as Parameters<typeof wallet.trx.sign>[0]);
      await wallet.trx.sendRawTransaction(signed as never);
    }
    await devnet.control.fund(to, { symbol: 'USDT', amountBaseUnits: 1n });
  }
  return devnet.control.summary().head;
}

interface Opened extends TronReaderDeps {
  readonly recipients?: readonly Address[];
  readonly hot?: Address;
}

function openReader({ recipients = [HOLDER], hot = HOLDER, ...deps }: Opened = {}) {
  const methods: string[] = [];
  const endpoints: string[] = [];
  const asked: number[] = [];
  const reader = createTronReader(
    networkOf(devnet, [devnet.tokens.USDT], { rpcUrls: proxies.map(({ url }) => url) }),
    {
      requestTimeoutMs: 20_000,
      random: () => 1,
      onExchange: ({ methods: [method], endpoint }) => {
        methods.push(method);
        if (method.endsWith('gettransactioninfobyid')) endpoints.push(endpoint);
      },
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
  /** Learns beacons from all transfers of some blocks. */
  const prove = async (): Promise<void> => {
    await reader.readVerified(first - BLOCKS_BEFORE, first - 1, []);
    expect(isWhole()).toBe(false);
    methods.length = 0;
  };
  return { reader, methods, endpoints, asked, isWhole, prove };
}
const last = (): number => first + BLOCKS - 1;
const toHolder = ({ transfers }: { readonly transfers: readonly { readonly to: string }[] }): number =>
  transfers.filter(({ to }) => to === HOLDER).length;
interface RpcCall {
  readonly method: string;
  readonly params: readonly { readonly topics?: readonly unknown[] }[];
}
const ofJsonRpc =
  (change: (result: unknown, call: RpcCall) => unknown): WrongAnswer =>
  async ({ method, body }, honest) => {
    if (method !== 'jsonrpc') return undefined;
    const calls = body as unknown as readonly RpcCall[];
    const answers = (await honest()) as readonly { readonly result: unknown }[];
    return answers.map((one, place) => ({ ...one, result: change(one.result, calls[place]!) }));
  };
/** Changes the logs of filters by recipient or sender. */
const ofFilters = (change: (logs: readonly unknown[]) => unknown): WrongAnswer =>
  ofJsonRpc((result, { params: [filter] }) =>
    Array.isArray(result) && (filter?.topics?.length ?? 0) > 1 ? change(result) : result,
  );
interface RawLog {
  readonly blockNumber: string;
  readonly topics: readonly string[];
}
const paysHolder = ({ topics: [, , to = ''] }: RawLog): boolean => to.endsWith(shortHexOf(HOLDER));
/** Without the payment of the first block. */
const withoutFirst = (logs: readonly unknown[]): readonly unknown[] =>
  (logs as readonly RawLog[]).filter((log) => Number(log.blockNumber) !== first || !paysHolder(log));
const isOfLogs = ({ method, body }: AskedOfTron): boolean =>
  method === 'jsonrpc' && JSON.stringify(body).includes('eth_getLogs');

test('finds the payments of a range by its logs, as in its blocks', async () => {
  const { reader, isWhole, prove } = openReader();
  await prove();
  const read = await reader.readVerified(first, last(), []);
  expect(isWhole()).toBe(false);
  const paid = read.transfers.filter(({ to }) => to === HOLDER);
  const byLogs = await reader.confirmTransfers(paid, { headers: read.headers });
  expect(byLogs.confirmed).toHaveLength(BLOCKS);
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
  const { reader, methods, prove } = openReader();
  await prove();
  const head = await pay(HOLDER, 1);
  await reader.headers(head - 1, head);
  await reader.head();
  methods.length = 0;
  const { transfers, headers } = await reader.readSeen(head, head);
  expect(methods).toEqual(['jsonrpc']);
  const paid = transfers.filter(({ to }) => to === HOLDER);
  const { confirmed } = await reader.confirmTransfers(paid, { headers, byOneSource: true });
  expect(confirmed).toMatchObject([{ to: HOLDER }]);
  expect(methods).toEqual(['jsonrpc', 'wallet/gettransactioninfobyid']);
});

test('shows payments by whole blocks where the source lacks the index of one', async () => {
  const { reader, isWhole, prove } = openReader();
  await prove();
  const lacks = withoutLogs(first, 1);
  indexes = { 0: lacks, 1: lacks };
  expect(toHolder(await reader.readSeen(first, first))).toBe(1);
  expect(isWhole()).toBe(true);
});

test('shows payments by whole blocks until logs sufficed for a verified range', async () => {
  const { reader, isWhole } = openReader();
  expect(toHolder(await reader.readSeen(first, first))).toBe(1);
  expect(isWhole()).toBe(true);
});

test('shows payments by whole blocks after any failure of JSON-RPC', async () => {
  const failures: readonly WrongAnswer[] = [
    async () => ({ jsonrpc: '2.0', id: null, error: { code: -32_603, message: 'Internal error' } }),
    async () => [],
    async () => '502 Bad Gateway',
    ofJsonRpc((result) => (Array.isArray(result) ? [{ removed: true }] : result)),
    ofJsonRpc((result, { method }) => (method === 'eth_chainId' ? '0x1' : result)),
    ofJsonRpc((result, { method }) => (method === 'eth_blockNumber' ? '0x1' : result)),
  ];
  for (const failure of failures) {
    const { reader, isWhole, prove } = openReader();
    wrongAnswers = {};
    await prove();
    const fails: WrongAnswer = async (asked, honest) =>
      isOfLogs(asked) ? failure(asked, honest) : undefined;
    wrongAnswers = { 0: fails, 1: fails };
    expect(toHolder(await reader.readSeen(first, first))).toBe(1);
    expect(isWhole()).toBe(true);
  }
});

test('asks one of two sources for receipts that both returned before', async () => {
  let aheadMs = 0;
  const { reader, endpoints, prove } = openReader({ nowMs: () => performance.now() + aheadMs });
  await prove();
  const { headers, ...read } = await reader.readVerified(first, first, []);
  const transfers = read.transfers.filter(({ to }) => to === HOLDER);
  for (const silent of [0, 1]) {
    wrongAnswers = {
      [silent]: async ({ method }) => (method === 'gettransactioninfobyid' ? { Error: 'failed' } : undefined),
    };
    await reader.confirmTransfers(transfers, { headers, byOneSource: true });
  }
  wrongAnswers = {};
  aheadMs = BACKOFF_MAX_MS;
  endpoints.length = 0;
  expect((await reader.confirmTransfers(transfers, { headers })).confirmed).toHaveLength(1);
  expect(endpoints).toHaveLength(1);
});

test('reads a block whole if one source leaves out its log', async () => {
  const { reader, methods, prove } = openReader();
  await prove();
  wrongAnswers[1] = ofFilters(withoutFirst);
  expect(toHolder(await reader.readVerified(first, last(), []))).toBe(BLOCKS);
  expect(methods.filter((method) => method.endsWith('getblockbynum'))).toHaveLength(2);
});

test.each([
  ['begins late at one node', (at: number) => ({ 1: logsFrom(at) })],
  ['stops at both nodes', (at: number) => ({ 0: logsUntil(at), 1: logsUntil(at) })],
  ['begins and stops at different nodes', (at: number) => ({ 0: logsFrom(at), 1: logsUntil(at) })],
  ['lacks one block at both nodes', (at: number) => ({ 0: withoutLogs(at, 1), 1: withoutLogs(at, 1) })],
  ['lacks 15 blocks at both nodes', (at: number) => ({ 0: withoutLogs(at, 15), 1: withoutLogs(at, 15) })],
  ['lacks 16 blocks at both nodes', (at: number) => ({ 0: withoutLogs(at, 16), 1: withoutLogs(at, 16) })],
  ['lacks 17 blocks at both nodes', (at: number) => ({ 0: withoutLogs(at, 17), 1: withoutLogs(at, 17) })],
  ['lacks other blocks', (at: number) => ({ 0: withoutLogs(at, 1), 1: withoutLogs(at + 1, 1) })],
])('misses no payment where the index of logs %s', async (_, gapAt) => {
  for (const at of [first, first + 3, last()]) {
    indexes = {};
    const { reader, prove } = openReader();
    await prove();
    indexes = gapAt(at);
    expect([at, toHolder(await reader.readVerified(first, last(), []))]).toEqual([at, BLOCKS]);
  }
});

test('misses no payment where one source lies and the other lacks the index', async () => {
  const { reader, prove } = openReader();
  await prove();
  wrongAnswers[0] = ofFilters(withoutFirst);
  indexes[1] = withoutLogs(first, 1);
  expect(toHolder(await reader.readVerified(first, last(), []))).toBe(BLOCKS);
});

test('misses no payment where a provider splits a batch among its nodes', async () => {
  const recipients = [...Array.from({ length: 450 }, () => STRANGERS[0]!), HOLDER];
  const { reader, prove } = openReader({ recipients });
  await prove();
  // The node that answers the filter of the 451st recipient has no index.
  const divides = ofJsonRpc((result, { params: [filter] }) => {
    const [, , to] = (filter?.topics ?? []) as readonly (readonly string[] | undefined)[];
    return Array.isArray(result) && to !== undefined && to.length < 450 ? [] : result;
  });
  wrongAnswers = { 0: divides, 1: divides };
  expect(toHolder(await reader.readVerified(first, last(), []))).toBe(BLOCKS);
});

test('misses no payment where both sources cut off the list of logs', async () => {
  const { reader, prove } = openReader();
  await prove();
  const cuts = ofFilters((logs) => {
    const place = (logs as readonly RawLog[]).findIndex((log) => Number(log.blockNumber) === last());
    return logs.slice(0, place + 1);
  });
  wrongAnswers = { 0: cuts, 1: cuts };
  expect(toHolder(await reader.readVerified(first, last(), []))).toBe(BLOCKS);
});

test('reports a sampled block of which both sources left out a log', async () => {
  const findings: unknown[] = [];
  const read: unknown[] = [];
  let random = 1;
  const { reader, methods, isWhole, prove } = openReader({
    random: () => random,
    onLogsContradicted: ({ height }) => void findings.push(height),
    onBlocksRead: (by, blocks) => void read.push(by, blocks),
  });
  await prove();
  random = 0;
  expect(toHolder(await reader.readVerified(first, first + 1, []))).toBe(2);
  expect([findings, methods.filter((method) => method.endsWith('getblockbynum')).length]).toEqual([[], 4]);
  const leavesOut = ofFilters(withoutFirst);
  wrongAnswers = { 0: leavesOut, 1: leavesOut };
  expect(toHolder(await reader.readVerified(first, first + 1, []))).toBe(2);
  expect(findings).toEqual([first]);
  expect(read.slice(-6)).toEqual(['whole', 2, 'logs', 0, 'whole', 2]);
  // Logs are not asked for again.
  [random, methods.length] = [1, 0];
  expect(toHolder(await reader.readVerified(first, first, []))).toBe(1);
  expect(isWhole() && !methods.includes('jsonrpc')).toBe(true);
});

test('reads the receipts of a block with many payments by one request', async () => {
  const { reader, methods, prove } = openReader();
  await prove();
  const { headers, ...read } = await reader.readVerified(first, first, []);
  const [paid] = read.transfers.filter(({ to }) => to === HOLDER);
  const others = Array.from({ length: 8 }, (_, place) => ({
    ...paid!,
    txHash: `${place}`.repeat(64) as TxHash,
  }));
  methods.length = 0;
  const confirming = reader.confirmTransfers([paid!, ...others], { headers, byOneSource: true });
  await expect(confirming).rejects.toMatchObject({ code: 'BLOCK_NOT_FOUND' });
  // Of each source.
  const receipts = methods.filter((method) => method.includes('gettransactioninfobyblocknum'));
  expect(receipts).toHaveLength(2);
});

test('shortens ranges after whole blocks were read', async () => {
  const { reader, prove } = openReader();
  expect(reader.blocksPerCall).toBe(8);
  await prove();
  expect(reader.blocksPerCall).toBe(32);
  indexes = { 0: logsFrom(last() + 1) };
  await reader.readVerified(first, last(), []);
  expect(reader.blocksPerCall).toBe(8);
});

test('reads a block whole if both sources leave out a recorded transfer', async () => {
  const { reader, methods, prove } = openReader();
  await prove();
  const { transfers } = await reader.readVerified(first, last(), []);
  const leavesOut = ofFilters(withoutFirst);
  wrongAnswers = { 0: leavesOut, 1: leavesOut };
  expect(toHolder(await reader.readVerified(first, last(), []))).toBe(BLOCKS - 1);
  const recorded = transfers.filter(({ to }) => to === HOLDER).slice(0, 1);
  expect(toHolder(await reader.readVerified(first, last(), recorded))).toBe(BLOCKS);
  expect(methods.filter((method) => method.endsWith('getblockbynum'))).toHaveLength(2);
});

test('reads blocks whole while a hot wallet sends transactions', async () => {
  const wallet = walletsOf(devnet)[5];
  const hot = wallet!.defaultAddress.base58 as Address;
  const { reader, isWhole, prove } = openReader({ hot });
  await prove();
  const sent = await wallet!.trx.sendTransaction(devnet.accounts[0]!.address, 1);
  const { head } = await devnet.control.mine();
  await devnet.control.mine(LAG + 1);
  const { actsOf } = await reader.readVerified(head, head, []);
  expect(isWhole()).toBe(true);
  expect(actsOf?.(new Set([hot]))).toMatchObject([{ wallet: hot, txHash: sent.transaction.txID }]);
});

test('asks for all transfers where the list of recipients is longer', async () => {
  const recipients = Array.from({ length: 501 }, () => HOLDER);
  const { reader, asked, prove, isWhole } = openReader({ recipients });
  await prove();
  const { transfers } = await reader.readVerified(first, first, []);
  expect([asked.at(-1), transfers.length, isWhole()]).toEqual([500, 3, false]);
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

test('reads whole blocks if asked to, as a rescan does', async () => {
  const { reader, isWhole, prove } = openReader();
  await prove();
  expect(toHolder(await reader.readVerified(first, last(), [], { isWhole: true }))).toBe(BLOCKS);
  expect(isWhole()).toBe(true);
});

const UNKNOWN = '5'.repeat(64);
test.each<readonly [string, WrongAnswer]>([
  [
    'has no receipt of its transaction',
    ofFilters((logs) =>
      logs.flatMap((log) => [log, { ...(log as object), transactionHash: `0x${UNKNOWN}` }]),
    ),
  ],
  ...(
    [
      ['fails to return its receipt', async () => ({ Error: 'failed' })],
      ['returns an empty receipt', async () => ({})],
    ] as const
  ).map(
    ([name, answer]) =>
      [
        name,
        async ({ method }: AskedOfTron) => (method === 'gettransactioninfobyid' ? answer() : undefined),
      ] as const,
  ),
])('shows payments by whole blocks after the source of a log %s', async (_, wrong) => {
  const { reader, methods, isWhole, prove } = openReader();
  await prove();
  wrongAnswers = { 0: wrong, 1: wrong };
  const show = async () => {
    const { headers, transfers } = await reader.readSeen(first, first);
    const paid = transfers.filter(({ to }) => to === HOLDER);
    return reader.confirmTransfers(paid, { headers, byOneSource: true });
  };
  await expect(show()).rejects.toMatchObject({ retryable: true });
  expect(isWhole()).toBe(false);
  methods.length = 0;
  // The other source may be asked now, and fail as well.
  await show().catch(() => undefined);
  const { confirmed, refuted } = await show();
  expect([confirmed.map(({ to }) => to), refuted, isWhole()]).toEqual([[HOLDER], [], true]);
});

test('pauses logs after ranges of which many blocks are in doubt', async () => {
  const { reader, methods, prove } = openReader({ nowMs: () => 0 });
  await prove();
  indexes = { 0: () => false, 1: () => false };
  const ways: boolean[] = [];
  for (let height = first; height < first + 8; height += 2) {
    methods.length = 0;
    expect(toHolder(await reader.readVerified(height, height + 1, []))).toBe(2);
    ways.push(methods.includes('jsonrpc'));
  }
  expect(ways).toEqual([true, true, true, false]);
});
