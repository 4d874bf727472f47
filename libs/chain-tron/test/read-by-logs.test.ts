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
/** Each has one payment. Controls of such blocks do not cover the first one. */
const BLOCKS = 9;
const BACKOFF_MAX_MS = 600_000;
const HOLDER = 'TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH' as Address;
let devnet: TronDevnet;
let proxies: readonly ByzantineTronProxy[];
let first: number;
type WrongAnswer = (asked: AskedOfTron, honest: () => Promise<unknown>) => Promise<unknown>;
let wrongAnswers: Partial<Record<number, WrongAnswer>> = {};
/** Of each node; every block where it is absent. */
let indexes: Partial<Record<number, (height: number) => boolean>> = {};
const logsFrom = (first: number) => (height: number) => height >= first;
const logsUntil = (last: number) => (height: number) => height <= last;

beforeAll(async () => {
  devnet = await startTronDevnet({ blockTimeMs: 0, solidLagBlocks: LAG });
  await pay(BLOCKS);
  first = devnet.control.summary().head + 1;
  await pay(BLOCKS);
  await devnet.control.mine(LAG);
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
  const endpoints: string[] = [];
  const asked: number[] = [];
  const reader = createTronReader(
    networkOf(devnet, [devnet.tokens.USDT], { rpcUrls: proxies.map(({ url }) => url) }),
    {
      requestTimeoutMs: 20_000,
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
  /** Reads blocks by their logs, which shows that both nodes have an index and which form the token's logs have. */
  const prove = async (): Promise<void> => {
    await reader.readVerified(first - 2, first - 1, []);
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
const isControl = ({ params: [filter] }: RpcCall): boolean => filter?.topics?.length === 1;
/** Changes the logs by recipient. Controls ask for all transfers. */
const ofFilters = (change: (logs: readonly unknown[]) => unknown): WrongAnswer =>
  ofJsonRpc((result, { params: [filter] }) =>
    Array.isArray(result) && (filter?.topics?.length ?? 0) > 1 ? change(result) : result,
  );
const withoutFirst = (logs: readonly unknown[]): unknown =>
  logs.filter((log) => Number((log as { readonly blockNumber: string }).blockNumber) !== first);
const isOfLogs = ({ method, body }: AskedOfTron): boolean =>
  method === 'jsonrpc' && JSON.stringify(body).includes('eth_getLogs');

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

/** Reads a block above the proven ones. */
async function seeNewBlock(opened: ReturnType<typeof openReader>) {
  const { reader, methods } = opened;
  await devnet.control.mine(LAG);
  const { solid } = devnet.control.summary();
  await pay(1);
  await reader.readVerified(solid - 1, solid, []);
  const { height } = await reader.head();
  methods.length = 0;
  return reader.readSeen(height, height);
}

test('shows payments by the logs of one source with two requests', async () => {
  const opened = openReader();
  await opened.prove();
  await pay(BLOCKS);
  const { transfers, headers } = await seeNewBlock(opened);
  expect(opened.methods).toEqual(['jsonrpc']);
  const { confirmed } = await opened.reader.confirmTransfers(transfers, { headers, byOneSource: true });
  expect(confirmed).toMatchObject([{ to: HOLDER, position: 'log:0' }]);
  expect(opened.methods).toEqual(['jsonrpc', 'wallet/gettransactioninfobyid']);
  await devnet.control.mine(LAG);
});

test('shows payments by whole blocks without a recent control', async () => {
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

test.each<readonly [string, WrongAnswer]>([
  ['returns an empty control', ofJsonRpc((result, call) => (isControl(call) ? [] : result))],
  ['fails to answer', async (asked) => (isOfLogs(asked) ? [] : undefined)],
])('shows payments by whole blocks after a source %s', async (_, wrong) => {
  const { reader, methods, isWhole, prove } = openReader();
  await prove();
  wrongAnswers[0] = wrong;
  await reader.readVerified(first, first + 1, []);
  wrongAnswers = {};
  methods.length = 0;
  expect(toHolder(await reader.readSeen(first + 2, first + 2))).toBe(1);
  expect(isWhole()).toBe(true);
});

test('asks one of two sources for receipts that both returned before', async () => {
  let aheadMs = 0;
  const { reader, endpoints, prove } = openReader({ nowMs: () => performance.now() + aheadMs });
  await prove();
  const { transfers, headers } = await reader.readVerified(first, first, []);
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
  ['stops at one node', (at: number) => ({ 0: logsUntil(at) })],
  ['begins late at both nodes', (at: number) => ({ 0: logsFrom(at), 1: logsFrom(at) })],
  ['stops at both nodes', (at: number) => ({ 0: logsUntil(at), 1: logsUntil(at) })],
  ['begins and stops at different nodes', (at: number) => ({ 0: logsFrom(at), 1: logsUntil(at) })],
])('misses no payment where the index of logs %s', async (_, gapAt) => {
  for (const at of [first - 1, first, first + 3, last()]) {
    indexes = {};
    const { reader, prove } = openReader();
    await prove();
    indexes = gapAt(at);
    expect([at, toHolder(await reader.readVerified(first, last(), []))]).toEqual([at, BLOCKS]);
  }
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
  expect(toHolder(await reader.readVerified(first, last(), transfers.slice(0, 1)))).toBe(BLOCKS);
  expect(methods.filter((method) => method.endsWith('getblockbynum'))).toHaveLength(2);
});

test('reads blocks whole while a hot wallet sends transactions', async () => {
  const [, wallet] = walletsOf(devnet);
  const hot = wallet!.defaultAddress.base58 as Address;
  const { reader, isWhole, prove } = openReader({ hot });
  await pay(2);
  await prove();
  const sent = await wallet!.trx.sendTransaction(devnet.accounts[0]!.address, 1);
  const { head } = await devnet.control.mine();
  await devnet.control.mine(LAG);
  const { actsOf } = await reader.readVerified(head, head, []);
  expect(isWhole()).toBe(true);
  expect(actsOf?.(new Set([hot]))).toMatchObject([{ wallet: hot, txHash: sent.transaction.txID }]);
});

test('asks for all transfers where the list of recipients is longer', async () => {
  const recipients = Array.from({ length: 501 }, () => HOLDER);
  const { reader, asked, prove, isWhole } = openReader({ recipients });
  await prove();
  const { transfers } = await reader.readVerified(first, first, []);
  expect([asked.at(-1), transfers.length, isWhole()]).toEqual([500, 1, false]);
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

test('refutes a log of an unknown transaction, and then shows whole blocks', async () => {
  const { reader, methods, isWhole, prove } = openReader();
  await prove();
  const unknown = `0x${'5'.repeat(64)}`;
  const invents = ofFilters((logs) =>
    logs.flatMap((log) => [log, { ...(log as object), transactionHash: unknown }]),
  );
  wrongAnswers = { 0: invents, 1: invents };
  const { transfers, headers } = await reader.readSeen(first, first);
  const { confirmed, refuted } = await reader.confirmTransfers(transfers, { headers, byOneSource: true });
  expect([confirmed.length, refuted.map(({ txHash }) => txHash)]).toEqual([1, ['5'.repeat(64)]]);
  wrongAnswers = {};
  methods.length = 0;
  await reader.readSeen(first + 1, first + 1);
  expect(isWhole()).toBe(true);
});
