import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { ChainReader } from '@opentill/chain/chain-reader';
import { startTronDevnet, type TronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import {
  createByzantineTronProxy,
  type AskedOfTron,
  type ByzantineTronProxy,
} from '@opentill/testkit/byzantine-tron-proxy';
import { addressOfShortHex } from '../src/address-codec.ts';
import { createTronReader } from '../src/reader.ts';
import { networkOf } from './tron-harness.ts';

// The devnet's USDT cannot report warnings, so a proxy changes the answers.

const TRUE = '1'.padStart(64, '0');
const NEW = 'ab'.repeat(20);
let devnet: TronDevnet;
let proxies: readonly ByzantineTronProxy[];
let reader: ChainReader;
/** Returned words per node, by function selector. */
let words: readonly Readonly<Record<string, string>>[] = [];

beforeAll(async () => {
  devnet = await startTronDevnet({ blockTimeMs: 0 });
  const override =
    (place: number) =>
    ({ body }: AskedOfTron): Promise<unknown> => {
      const word = words[place]?.[String(body['data']).slice(0, 8)];
      const answer = { result: { result: true }, energy_used: 400, constant_result: [word] };
      return Promise.resolve(word === undefined ? undefined : answer);
    };
  proxies = await Promise.all(
    [0, 1].map((place) =>
      createByzantineTronProxy({ upstreamUrl: devnet.url, seed: place, override: override(place) }),
    ),
  );
  reader = createTronReader(
    networkOf(devnet, [devnet.tokens.USDT, devnet.tokens.USDC], { rpcUrls: proxies.map(({ url }) => url) }),
    { requestTimeoutMs: 60_000 },
  );
});
afterEach(() => {
  words = [];
});
afterAll(async () => {
  for (const proxy of proxies) await proxy.close();
  await devnet.close();
});

const DEPRECATED = { '0e136b19': TRUE, '26976e3f': NEW.padStart(64, '0') };

test('returns no warning for a token that reports none', async () => {
  await expect(reader.tokenWarnings!()).resolves.toEqual([]);
});

test('returns a replaced contract with its successor', async () => {
  words = [DEPRECATED, DEPRECATED];
  const by = addressOfShortHex(NEW);
  await expect(reader.tokenWarnings!()).resolves.toEqual([
    { kind: 'REPLACED', contract: devnet.tokens.USDT, by },
    { kind: 'REPLACED', contract: devnet.tokens.USDC, by },
  ]);
});

test('returns a paused contract, also with a replacement without a successor', async () => {
  const both = { '5c975abb': TRUE, '0e136b19': TRUE };
  words = [both, both];
  await expect(reader.tokenWarnings!()).resolves.toEqual(
    [devnet.tokens.USDT, devnet.tokens.USDC].flatMap((contract) => [
      { kind: 'PAUSED', contract },
      { kind: 'REPLACED', contract, by: undefined },
    ]),
  );
});

test('returns no warning that only one source reports, or with different successors', async () => {
  words = [DEPRECATED];
  await expect(reader.tokenWarnings!()).resolves.toEqual([]);
  words = [DEPRECATED, { ...DEPRECATED, '26976e3f': 'cd'.repeat(20).padStart(64, '0') }];
  await expect(reader.tokenWarnings!()).resolves.toEqual([]);
});
