import { expect, test } from 'vitest';
import { readerError } from '@opentill/chain/reader-error';
import type { TokenWarning } from '@opentill/chain/token-warning';
import type { TokenContract } from '@opentill/chain/transfer';
import type { Scanning } from './scanning.ts';
import { createTokenWatch } from './token-watch.ts';

const MINUTE_MS = 60_000;
const PAUSED: readonly TokenWarning[] = [{ kind: 'PAUSED', contract: 'T' as TokenContract }];

/** A watch on a reader that answers, or fails, as it is told. */
function watched() {
  let nowMs = 0;
  const asked: (() => Promise<readonly TokenWarning[]>)[] = [];
  const [told, failed]: [unknown[], unknown[]] = [[], []];
  const reader = { tokenWarnings: () => asked.shift()?.() ?? Promise.resolve([]) };
  const observe = {
    tokensAsked: (_chain: string, warnings: unknown) => void told.push(warnings),
    failed: (_chain: string, part: string) => void failed.push(part),
  };
  const watch = createTokenWatch({
    network: { chain: 'TRON' },
    reader,
    observe,
    clock: { now: () => new Date(nowMs) },
  } as unknown as Scanning);
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return { watch, asked, told, failed, settled, pass: (ms: number) => (nowMs += ms) };
}

test('asks at once, then every ten minutes, and anew after a change of the lease', async () => {
  const { watch, asked, told, settled, pass } = watched();
  asked.push(() => Promise.resolve(PAUSED));
  watch.look({});
  await settled();
  pass(10 * MINUTE_MS - 1);
  watch.look({});
  await settled();
  expect(told).toEqual([PAUSED]);
  pass(1);
  watch.look({});
  await settled();
  expect(told).toEqual([PAUSED, []]);
  watch.forget();
  watch.look({});
  await settled();
  expect(told).toHaveLength(3);
});

test('a failure is told, and it is asked again soon; what was said stands meanwhile', async () => {
  const { watch, asked, told, failed, settled, pass } = watched();
  asked.push(() => Promise.reject(readerError('RPC_UNAVAILABLE', 'away')));
  watch.look({});
  await settled();
  expect([told, failed]).toEqual([[], ['tokens']]);
  watch.look({});
  await settled();
  expect(told).toEqual([]);
  pass(MINUTE_MS);
  watch.look({});
  await settled();
  expect(told).toEqual([[]]);
});

test('never asks twice at once', async () => {
  const { watch, asked, told, settled } = watched();
  const answer = Promise.withResolvers<readonly TokenWarning[]>();
  asked.push(() => answer.promise);
  watch.look({});
  watch.look({});
  answer.resolve(PAUSED);
  await settled();
  expect(told).toEqual([PAUSED]);
});

test('what is answered after the chain was another’s is not told, and it is asked anew', async () => {
  const { watch, asked, told, failed, settled } = watched();
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
  expect([told, failed]).toEqual([[], []]);
  watch.look({});
  await settled();
  expect(told).toEqual([[]]);
});

test('nothing is told after the scanner has stopped', async () => {
  const { watch, asked, told, settled } = watched();
  const stopping = new AbortController();
  const answer = Promise.withResolvers<readonly TokenWarning[]>();
  asked.push(() => answer.promise);
  watch.look({ signal: stopping.signal });
  stopping.abort();
  answer.resolve(PAUSED);
  await settled();
  expect(told).toEqual([]);
});
