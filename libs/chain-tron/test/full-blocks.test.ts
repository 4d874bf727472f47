import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTronDevnet, type TronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import { listenLocally, readBody } from '@opentill/testkit/local-http-server';
import { createTronSources } from '../src/tron-sources.ts';
import { networkOf } from './tron-harness.ts';

// Whole blocks in flight are limited by size, so that they fit into a small container.

const MEGABYTE = 1024 * 1024;
let devnet: TronDevnet;
let server: Server;
let url: string;
let bytes = 0;
let held: (() => void)[] = [];
let isHolding = false;
let enough = { count: 0, reached: (): void => undefined };

beforeAll(async () => {
  devnet = await startTronDevnet({ blockTimeMs: 0 });
  await devnet.control.mine(1);
  server = createServer((request, response) => {
    void (async () => {
      const body = await readBody(request);
      const isWhole = request.url?.endsWith('bynum') === true;
      if (isWhole && isHolding)
        await new Promise<void>((resolve) => {
          held.push(resolve);
          if (held.length === enough.count) enough.reached();
        });
      const answer = await fetch(`${devnet.url}${request.url ?? ''}`, { method: 'POST', body });
      response.end((await answer.text()).padEnd(isWhole ? bytes : 0));
    })();
  });
  url = await listenLocally(server);
});
afterAll(async () => {
  server.close().closeAllConnections();
  await devnet.close();
});

/** Requests one block more than `count` of the given size. Returns how many were in flight when `count` were. */
async function underWayOf(count: number, bytesOfEach: number): Promise<number> {
  bytes = bytesOfEach;
  const [source] = createTronSources(networkOf(devnet, [], { rpcUrls: [url] }), {
    requestTimeoutMs: 60_000,
  }).all();
  const ask = (): Promise<unknown> =>
    source!.call({ side: 'wallet', method: 'getblockbynum', body: { num: 1 } });
  await ask(); // the client learns the size from this answer
  isHolding = true;
  const reached = new Promise<void>((resolve) => (enough = { count, reached: resolve }));
  const asked = Array.from({ length: count + 1 }, ask);
  await reached;
  // Once a later request is answered, an additional whole block would have been requested, too.
  if (count < 16) await source!.call({ side: 'wallet', method: 'getnowblock' });
  const most = held.length;
  isHolding = false;
  held.forEach((answer) => answer());
  held = [];
  await Promise.all(asked);
  return most;
}

test('requests sixteen small blocks at once', async () => {
  await expect(underWayOf(16, 0)).resolves.toBe(16);
});

test.each([
  [2, 7.5],
  [1, 12],
])('requests %d blocks of %d MB at once', async (count, megabytes) => {
  await expect(underWayOf(count, megabytes * MEGABYTE)).resolves.toBe(count);
});
