import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { startTronDevnet, type TronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import {
  createByzantineTronProxy,
  type AskedOfTron,
  type ByzantineTronProxy,
} from '@opentill/testkit/byzantine-tron-proxy';
import { createTronReader, type TronNetwork } from '../src/reader.ts';
import type { TronExchange } from '../src/tron-client.ts';
import { networkOf } from './tron-harness.ts';

const LAG = 3;
const BLOCKS = 8;
const HOLDER = 'TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH' as Address;
let devnet: TronDevnet;
let proxies: readonly ByzantineTronProxy[];
let first: number;
type WrongAnswer = (asked: AskedOfTron, honest: () => Promise<unknown>) => Promise<unknown>;
let wrongAnswers: Partial<Record<number, WrongAnswer>> = {};

beforeAll(async () => {
  devnet = await startTronDevnet({ blockTimeMs: 0, solidLagBlocks: LAG });
  first = devnet.control.summary().head + 1;
  for (let block = 0; block < BLOCKS; block += 1)
    await devnet.control.fund(HOLDER, { symbol: 'USDT', amountBaseUnits: 1n });
  await devnet.control.mine(LAG);
  proxies = await Promise.all(
    [0, 1, 2].map((place) =>
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

function readerOf(
  overrides: Partial<TronNetwork> = {},
  {
    requestTimeoutMs = 20_000,
    nowMs,
  }: { readonly requestTimeoutMs?: number; readonly nowMs?: () => number } = {},
) {
  const exchanges: TronExchange[] = [];
  const urls = proxies.map(({ url }) => url);
  const network = networkOf(devnet, [devnet.tokens.USDT], {
    rpcUrls: urls.slice(0, 2),
    ...overrides,
  });
  const onExchange = (exchange: TronExchange): void => void exchanges.push(exchange);
  const clock = nowMs === undefined ? {} : { nowMs };
  const reader = createTronReader(network, { requestTimeoutMs, onExchange, ...clock });
  return { reader, exchanges, hosts: urls.map((url) => new URL(url).host) };
}
const last = (): number => first + BLOCKS - 1;

test('confirms transfers without a request if both sources returned the block', async () => {
  const { reader, exchanges } = readerOf();
  const { headers, transfers } = await reader.readVerified(first, last(), []);
  const ours = transfers.filter(({ to }) => to === HOLDER);
  expect(ours).toHaveLength(BLOCKS);
  exchanges.length = 0;
  const { confirmed, refuted } = await reader.confirmTransfers(ours, { headers });
  expect([confirmed.length, refuted.length, exchanges.length]).toEqual([BLOCKS, 0, 0]);
  await expect(reader.confirmTransfers(ours)).resolves.toMatchObject({
    confirmed: confirmed.map(({ txHash, position, feeBaseUnits, amountBaseUnits }) => ({
      txHash,
      position,
      feeBaseUnits,
      amountBaseUnits,
    })),
  });
  expect(exchanges.length).toBeGreaterThan(2 * BLOCKS);
});

test('confirms for display without a request if one source returned the block', async () => {
  const { reader, exchanges } = readerOf();
  const { headers, transfers } = await reader.readSeen(first, last());
  const ours = transfers.filter(({ to }) => to === HOLDER);
  exchanges.length = 0;
  const shown = await reader.confirmTransfers(ours, { headers, byOneSource: true });
  expect([shown.confirmed.length, shown.refuted.length, exchanges.length]).toEqual([BLOCKS, 0, 0]);
  // Without headers that confirm the blocks, the receipts are requested, with the same result.
  const asked = await reader.confirmTransfers(ours, { byOneSource: true });
  expect(exchanges.length).toBeGreaterThan(BLOCKS);
  expect(asked.confirmed).toMatchObject(shown.confirmed);
});

test('requests receipts if the fees differ or only one source returned the block', async () => {
  wrongAnswers[1] = async ({ method }, honest) =>
    method === 'gettransactioninfobyblocknum'
      ? ((await honest()) as readonly object[]).map((info) => ({ ...info, fee: 1 }))
      : undefined;
  const { reader, exchanges } = readerOf();
  const verified = await reader.readVerified(first, first, []);
  exchanges.length = 0;
  await reader.confirmTransfers(verified.transfers, { headers: verified.headers });
  expect(exchanges.length).toBeGreaterThan(0);
  const seen = await reader.readSeen(first, first);
  exchanges.length = 0;
  await reader.confirmTransfers(seen.transfers, { headers: seen.headers });
  expect(exchanges.length).toBeGreaterThan(0);
});

const WHOLE = ['getblockbynum', 'gettransactioninfobyblocknum'];
const ofWholeBlocks = (exchanges: readonly TronExchange[]) =>
  exchanges.filter(({ methods: [method] }) => WHOLE.includes(method.split('/')[1]!));

test('requests seen blocks again from a source only if the other one differs', async () => {
  const { reader, exchanges } = readerOf();
  const seen = await reader.readSeen(first, last());
  exchanges.length = 0;
  const verified = await reader.readVerified(first, last(), []);
  expect([verified.headers, verified.transfers.length]).toEqual([seen.headers, seen.transfers.length]);
  const asked = ofWholeBlocks(exchanges);
  expect([asked.length, new Set(asked.map(({ endpoint }) => endpoint)).size]).toEqual([2 * BLOCKS, 1]);
  expect(asked.every(({ methods: [method] }) => method.startsWith('walletsolidity/'))).toBe(true);
  // The source that returned the blocks before only confirms the last of them, and its chain.
  const ofTheOther = exchanges.filter(({ endpoint }) => endpoint !== asked[0]!.endpoint);
  expect(ofTheOther.map(({ methods: [method] }) => method)).toContain('walletsolidity/getblock');
  expect(ofTheOther.length).toBeLessThanOrEqual(3);
  exchanges.length = 0;
  const { confirmed } = await reader.confirmTransfers(verified.transfers, { headers: verified.headers });
  expect([confirmed.length, exchanges.length]).toEqual([verified.transfers.length, 0]);
  // The remembered answer counts only if the other source agrees; otherwise both are asked.
  wrongAnswers[1] = async ({ method, body }, honest) =>
    method === 'gettransactioninfobyblocknum' && body['num'] === first
      ? ((await honest()) as readonly object[]).map((info) => ({ ...info, log: [] }))
      : undefined;
  await expect(reader.readVerified(first, last(), [])).rejects.toMatchObject({ code: 'INCONSISTENT_ANSWER' });
  expect(new Set(ofWholeBlocks(exchanges).map(({ endpoint }) => endpoint)).size).toBe(2);
});

test('asks one of two sources again when both read the blocks before', async () => {
  let now = 0;
  const { reader, exchanges } = readerOf({}, { nowMs: () => now });
  await reader.readSeen(first, last());
  wrongAnswers[0] = away; // so the second one reads them too
  await reader.readSeen(first, last());
  wrongAnswers = {};
  now += 120_000;
  exchanges.length = 0;
  await reader.readVerified(first, last(), []);
  const asked = ofWholeBlocks(exchanges);
  expect([asked.length, new Set(asked.map(({ endpoint }) => endpoint)).size]).toEqual([2 * BLOCKS, 1]);
});

test('does not use remembered blocks that have left the chain of their source', async () => {
  const { reader } = readerOf();
  await devnet.control.fund(HOLDER, { symbol: 'USDT', amountBaseUnits: 1n });
  const { head } = devnet.control.summary();
  const ofBefore = new Map<string, unknown>();
  for (const method of WHOLE) ofBefore.set(method, await answerOf(method, head));
  const [seen] = (await reader.readSeen(head, head)).headers;
  await devnet.control.reorganise(1, { drop: true });
  await devnet.control.mine(LAG + 1);
  // The other source keeps the removed block and returns it as solid.
  wrongAnswers[1] = ({ method, body }) =>
    Promise.resolve(body['num'] === head ? structuredClone(ofBefore.get(method)) : undefined);
  await expect(reader.readVerified(head, head, [])).rejects.toMatchObject({ code: 'INCONSISTENT_ANSWER' });
  wrongAnswers = {};
  const { headers } = await reader.readVerified(head, head, []);
  expect(headers[0]?.hash).not.toBe(seen!.hash);
});

async function answerOf(method: string, num: number): Promise<unknown> {
  const response = await fetch(`${devnet.url}/wallet/${method}`, {
    method: 'POST',
    body: JSON.stringify({ num }),
  });
  return response.json();
}

test('does not verify seen blocks while the other source is away', async () => {
  const { reader } = readerOf();
  await reader.readSeen(first, last());
  wrongAnswers[1] = () => Promise.resolve({ Error: 'class java.lang.NullPointerException : null' });
  await expect(reader.readVerified(first, last(), [])).rejects.toMatchObject({ code: 'RPC_UNAVAILABLE' });
});

const away = (): Promise<unknown> =>
  Promise.resolve({ Error: 'class java.lang.NullPointerException : null' });

test('limits the requests to a source that always fails at once', async () => {
  const { reader, exchanges, hosts } = readerOf();
  wrongAnswers[1] = away;
  await expect(reader.readVerified(first, last(), [])).rejects.toMatchObject({ code: 'RPC_UNAVAILABLE' });
  const asked = exchanges.filter(({ endpoint }) => endpoint === hosts[1]).length;
  // Two calls per block, each made twice, and four more blocks; all of it three times.
  expect(asked).toBeLessThanOrEqual(3 * (4 * BLOCKS + 4 * 4) + 2);
});

test('replaces a source that contradicts its remembered answer and fails now', async () => {
  const { reader, exchanges, hosts } = readerOf({ rpcUrls: proxies.map(({ url }) => url) });
  // The first source hides its transfers in the seen pass and fails when it is asked again.
  wrongAnswers[0] = async ({ method }, honest) =>
    method === 'gettransactioninfobyblocknum'
      ? ((await honest()) as readonly object[]).map((info) => ({ ...info, log: [] }))
      : undefined;
  const seen = await reader.readSeen(first, last());
  expect(seen.transfers).toEqual([]);
  expect(new Set(ofWholeBlocks(exchanges).map(({ endpoint }) => endpoint))).toEqual(new Set([hosts[0]]));
  wrongAnswers[0] = ({ method }) => (WHOLE.includes(method) ? away() : Promise.resolve(undefined));
  exchanges.length = 0;
  const { transfers } = await reader.readVerified(first, last(), []);
  expect(transfers.filter(({ to }) => to === HOLDER)).toHaveLength(BLOCKS);
  expect(new Set(ofWholeBlocks(exchanges).map(({ endpoint }) => endpoint))).toEqual(new Set(hosts));
  expect(reader.sources?.().find(({ place }) => place === 0)).toMatchObject({
    lastErrorCode: 'RPC_UNAVAILABLE',
  });
});

test('counts a source that answers from memory as having the blocks', async () => {
  let now = 0;
  const end = first + 1;
  const { reader, exchanges, hosts } = readerOf({ aloneAfterSeconds: 60 }, { nowMs: () => now });
  // The first lacks blocks below its head. The second is slower, so the first is asked first.
  wrongAnswers[0] = ({ method }) => Promise.resolve(WHOLE.includes(method) ? {} : undefined);
  const slow: WrongAnswer = () => new Promise((resolve) => setTimeout(resolve, 700, undefined));
  wrongAnswers[1] = slow;
  await expect(reader.readVerified(first, end, [])).rejects.toMatchObject({ code: 'BLOCK_NOT_FOUND' });
  delete wrongAnswers[0];
  now += 30_000;
  await reader.readSeen(first, end);
  for (let times = 0; times < 2; times += 1) {
    exchanges.length = 0;
    await reader.readVerified(first, end, []);
    expect(new Set(ofWholeBlocks(exchanges).map(({ endpoint }) => endpoint))).toEqual(new Set([hosts[1]]));
    now += 20_000;
  }
  // 70 s after it lacked blocks, 20 s after it was last known to have them.
  wrongAnswers[0] = away;
  await expect(reader.readVerified(first, end, [])).rejects.toMatchObject({ code: 'RPC_UNAVAILABLE' });
});

test('needs one call per source for the solid height if heads and blocks are known', async () => {
  const { reader, exchanges } = readerOf();
  const { height: unknown } = await reader.finalized();
  expect(exchanges.length).toBeGreaterThanOrEqual(6);
  await reader.readSeen(unknown, unknown);
  exchanges.length = 0;
  await expect(reader.finalized()).resolves.toMatchObject({ height: unknown });
  expect(exchanges.map(({ methods: [method] }) => method)).toEqual([
    'walletsolidity/getblock',
    'walletsolidity/getblock',
  ]);
});
