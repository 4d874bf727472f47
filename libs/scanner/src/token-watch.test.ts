import { expect, test } from 'vitest';
import { readerError } from '@opentill/chain/reader-error';
import type { TokenWarning } from '@opentill/chain/token-warning';
import type { TokenContract } from '@opentill/chain/transfer';
import type { Scanning } from './scanning.ts';
import { createTokenWatch } from './token-watch.ts';

const MINUTE_MS = 60_000;
const PAUSED: readonly TokenWarning[] = [{ kind: 'PAUSED', contract: 'T' as TokenContract }];

function watched() {
  let nowMs = 0;
  const asked: (() => Promise<readonly TokenWarning[]>)[] = [];
  const [warned, failed]: [unknown[], unknown[]] = [[], []];
  const reader = { tokenWarnings: () => asked.shift()?.() ?? Promise.resolve([]) };
  const observe = {
    tokensAsked: (_chain: string, warnings: unknown) => void warned.push(warnings),
    failed: (_chain: string, part: string) => void failed.push(part),
  };
  const watch = createTokenWatch({
    network: { chain: 'TRON' },
    reader,
    observe,
    clock: { now: () => new Date(nowMs) },
  } as unknown as Scanning);
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return { watch, asked, warned, failed, settled, pass: (ms: number) => (nowMs += ms) };
}

test('asks at once, then every ten minutes, and again after a lease change', async () => {
  const { watch, asked, warned, settled, pass } = watched();
  asked.push(() => Promise.resolve(PAUSED));
  watch.look({});
  await settled();
  pass(10 * MINUTE_MS - 1);
  watch.look({});
  await settled();
  expect(warned).toEqual([PAUSED]);
  pass(1);
  watch.look({});
  await settled();
  expect(warned).toEqual([PAUSED, []]);
  watch.forget();
  watch.look({});
  await settled();
  expect(warned).toHaveLength(3);
});

test('reports a failure, retries soon and keeps the last warnings', async () => {
  const { watch, asked, warned, failed, settled, pass } = watched();
  asked.push(() => Promise.reject(readerError('RPC_UNAVAILABLE', 'away')));
  watch.look({});
  await settled();
  expect([warned, failed]).toEqual([[], ['tokens']]);
  watch.look({});
  await settled();
  expect(warned).toEqual([]);
  pass(MINUTE_MS);
  watch.look({});
  await settled();
  expect(warned).toEqual([[]]);
});

test('makes one request at a time', async () => {
  const { watch, asked, warned, settled } = watched();
  const answer = Promise.withResolvers<readonly TokenWarning[]>();
  asked.push(() => answer.promise);
  watch.look({});
  watch.look({});
  answer.resolve(PAUSED);
  await settled();
  expect(warned).toEqual([PAUSED]);
});

test('drops answers that arrive after the chain changed replicas, and asks again', async () => {
  const { watch, asked, warned, failed, settled } = watched();
  const [before, broken] = [
    Promise.withResolvers<readonly TokenWarning[]>(),
    Promise.withResolvers<readonly TokenWarning[]>(),
  ];
  asked.push(
    () => before.promise,
    () => broken.promise,
    () => Promise.resolve([]),
  );
  watch.look({});
  watch.forget();
  watch.look({});
  watch.forget();
  before.resolve(PAUSED);
  broken.reject(readerError('RPC_UNAVAILABLE', 'away'));
  await settled();
  expect([warned, failed]).toEqual([[], []]);
  watch.look({});
  await settled();
  expect(warned).toEqual([[]]);
});

test('reports no warnings after the scanner stopped', async () => {
  const { watch, asked, warned, settled } = watched();
  const stopping = new AbortController();
  const answer = Promise.withResolvers<readonly TokenWarning[]>();
  asked.push(() => answer.promise);
  watch.look({ signal: stopping.signal });
  stopping.abort();
  answer.resolve(PAUSED);
  await settled();
  expect(warned).toEqual([]);
});
