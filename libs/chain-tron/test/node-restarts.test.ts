import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTronDevnet, type TronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import { listenLocally, readBody } from '@opentill/testkit/local-http-server';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createTronReader } from '../src/reader.ts';
import { networkOf } from './tron-harness.ts';

/** From java-tron 4.8.0; see tools/devnets/test/tron/recorded-scenario.ts. */
const RECORDED = JSON.parse(
  readFileSync(
    `${import.meta.dirname}/../../../tools/devnets/test/fixtures/java-tron-4.8.0-answers.json`,
    'utf8',
  ),
) as Readonly<Record<'block.future' | 'infos.future', unknown>>;
const SOLID_LAG = 4;
const BLOCKS = 10;

let devnet: TronDevnet;
let server: Server;
let url: string;
/** The node was restarted and knows only its solid blocks. */
let hasForgotten = false;

beforeAll(async () => {
  devnet = await startTronDevnet({ blockTimeMs: 0, solidLagBlocks: SOLID_LAG });
  await devnet.control.mine(BLOCKS);
  server = createServer((request, response) => {
    void (async () => {
      const path = request.url ?? '';
      const body = await readBody(request);
      const forgotten = hasForgotten ? await answerFrom(path, body) : undefined;
      if (forgotten !== undefined) return response.end(JSON.stringify(forgotten));
      const isHead = hasForgotten && asksHead(path, body);
      const answer = await fetch(
        `${devnet.url}${isHead ? path.replace('/wallet/', '/walletsolidity/') : path}`,
        {
          method: 'POST',
          body,
        },
      );
      return response.writeHead(answer.status).end(await answer.text());
    })();
  });
  url = await listenLocally(server);
});
afterAll(async () => {
  server.close().closeAllConnections();
  await devnet.close();
});

const asksHead = (path: string, body: string): boolean =>
  path.endsWith('/getnowblock') || (path.endsWith('/getblock') && !body.includes('id_or_num'));

/** java-tron's answer about blocks above its head; undefined for any other call. */
async function answerFrom(path: string, body: string): Promise<unknown> {
  const method = path.split('/').at(-1);
  if (method !== 'getblockbynum' && method !== 'gettransactioninfobyblocknum') return undefined;
  const { num } = JSON.parse(body) as { num: number };
  if (num <= (await solidHeight())) return undefined;
  return RECORDED[method === 'getblockbynum' ? 'block.future' : 'infos.future'];
}

async function solidHeight(): Promise<number> {
  const answer = await fetch(`${devnet.url}/walletsolidity/getnowblock`, { method: 'POST', body: '{}' });
  const block = (await answer.json()) as { block_header: { raw_data: { number: number } } };
  return block.block_header.raw_data.number;
}

test('loses no block when java-tron forgets unsolid blocks at a restart', async () => {
  const open = () => createTronReader(networkOf(devnet, [devnet.tokens.USDT], { rpcUrls: [url] }));
  const reader = open();
  const { height } = await reader.head();
  const first = height - BLOCKS + 1;
  const before = await reader.readSeen(first, height);
  hasForgotten = true;
  const solid = await solidHeight();
  expect(await reader.head()).toMatchObject({ height: solid });
  expect(solid).toBe(height - SOLID_LAG);
  await expect(open().readSeen(first, height)).rejects.toMatchObject({
    code: 'BLOCK_NOT_FOUND',
    retryable: true,
  });
  const read = await reader.readVerified(first, solid, []);
  expect(read.headers).toEqual(before.headers.slice(0, solid - first + 1));
  hasForgotten = false;
  await waitUntil('the node has the blocks again', async () => (await reader.head()).height === height);
  expect((await reader.readSeen(first, height)).headers).toEqual(before.headers);
});
