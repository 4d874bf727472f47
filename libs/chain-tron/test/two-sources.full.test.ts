import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { startTronDevnet, type TronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import { createByzantineTronProxy, type ByzantineTronProxy } from '@opentill/testkit/byzantine-tron-proxy';
import { createTronReader } from '../src/reader.ts';
import { networkOf } from './tron-harness.ts';

const LAG = 3;
const BLOCKS = 8;
const HOLDER = 'TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH' as Address;
let devnet: TronDevnet;
let proxies: readonly ByzantineTronProxy[];

beforeAll(async () => {
  devnet = await startTronDevnet({ blockTimeMs: 0, solidLagBlocks: LAG });
  proxies = await Promise.all(
    [0, 1].map((seed) => createByzantineTronProxy({ upstreamUrl: devnet.url, seed })),
  );
});
afterAll(async () => {
  for (const proxy of proxies) await proxy.close();
  await devnet.close();
});

test('reads a range although the rate limit makes it longer than a call may take', async () => {
  const first = devnet.control.summary().head + 1;
  const last = first + BLOCKS - 1;
  for (let block = 0; block < BLOCKS; block += 1)
    await devnet.control.fund(HOLDER, { symbol: 'USDT', amountBaseUnits: 1n });
  await devnet.control.mine(LAG);
  // Two calls a block at 3 a second, three at once: more than 4.3 s at each source, with a timeout of 4 s per call.
  const rpcUrls = proxies.map(({ url }) => ({ url, requestsPerSecond: 3 }));
  const network = networkOf(devnet, [devnet.tokens.USDT], { rpcUrls });
  const reader = createTronReader(network, { requestTimeoutMs: 4_000 });
  const { transfers } = await reader.readVerified(first, last, []);
  expect(transfers.filter(({ to }) => to === HOLDER)).toHaveLength(BLOCKS);
  const seen = await reader.readSeen(first, last);
  expect(seen.headers).toHaveLength(BLOCKS);
  // Other calls do not queue behind the blocks.
  const startedAt = performance.now();
  const [, { height }] = await Promise.all([reader.readVerified(first, last, []), reader.head()]);
  expect(height).toBe(devnet.control.summary().head);
  expect(performance.now() - startedAt).toBeGreaterThan(4_000);
});
