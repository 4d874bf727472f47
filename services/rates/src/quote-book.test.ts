import { createServer } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { ONE } from '@opentill/domain/ratio';
import { listenLocally } from '@opentill/testkit/local-http-server';
import { createQuoteBook } from './quote-book.ts';

const ASKED_MS = 1_000_000;
let nowMs: number;
let answerTakesMs: number;
let failures: unknown[];
let url: string;
const server = createServer((_, response) => {
  nowMs += answerTakesMs;
  response.setHeader('age', '7').end('1');
});

beforeAll(async () => {
  url = await listenLocally(server);
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});
beforeEach(() => {
  nowMs = ASKED_MS;
  failures = [];
});

async function quotesAfter(takesMs: number) {
  answerTakesMs = takesMs;
  const source = {
    name: 'exchange',
    baseUrl: '',
    pairs: { 'USDT/USD': 'usdtusd' },
    path: () => '/usdtusd',
    read: () => ({ value: ONE }),
  };
  const book = createQuoteBook({
    settings: { exchanges: [source], centralBanks: [], sourcesUrl: url },
    clock: { now: () => new Date(nowMs) },
    observe: { sourceRead: () => undefined, sourceFailed: (_source, _path, error) => failures.push(error) },
  });
  await book.refresh(new Set(['USDT/USD']), false, new AbortController().signal);
  return book.quotes('USDT/USD');
}

test('a quote is as old as its request, and as long as a cache kept it before', async () => {
  expect(await quotesAfter(6_000)).toMatchObject([{ source: 'exchange', atMs: ASKED_MS - 7_000 }]);
});

test('an answer that came through a suspended machine does not count', async () => {
  expect(await quotesAfter(6_001)).toEqual([]);
  expect(failures).toMatchObject([{ code: 'SOURCE_UNREACHABLE' }]);
});
