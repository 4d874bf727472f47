import { expect, test } from 'vitest';
import type { TxHash } from '@opentill/chain/transfer';
import type { TronSources } from '../tron-sources.ts';
import type { SendAnswer } from '@opentill/chain-sources/send-to-all';
import { broadcast } from './broadcast.ts';

const SIGNED = Array.from({ length: 30 }, (_, place) => ({
  txHash: `${place}`.padStart(64, '0') as TxHash,
  raw: Uint8Array.of(place),
}));

type Answer = (signal: AbortSignal) => Promise<unknown>;
/** Never answers and ignores its abort signal. */
const unresponsive: Answer = () => new Promise(() => undefined);
const taking: Answer = () => Promise.resolve({ result: true });
const sourcesOf = (...answers: readonly Answer[]) => {
  const witnesses = answers.map((answer, place) => ({
    label: `source ${place}`,
    call: (_: unknown, { signal }: { signal: AbortSignal }) => answer(signal),
  }));
  return { quorumSources: () => witnesses } as unknown as TronSources;
};
const DEADLINE_MS = 60;
const DEFAULT_DEADLINE_MS = 20_000;

async function send(
  sources: TronSources,
  options = {},
): Promise<{ outcomes: Set<string>; tookMs: number; received: SendAnswer[] }> {
  const received: SendAnswer[] = [];
  const startedAt = performance.now();
  const outcomes = await broadcast(sources, SIGNED, (answer) => received.push(answer), options, DEADLINE_MS);
  expect(outcomes).toHaveLength(SIGNED.length);
  return { outcomes: new Set(outcomes), tookMs: performance.now() - startedAt, received };
}

test('ends a broadcast by its deadline however many transactions there are', async () => {
  let asked = 0;
  const counting: Answer = (signal) => {
    asked += 1;
    return unresponsive(signal);
  };
  const { outcomes, tookMs } = await send(sourcesOf(counting));
  expect([...outcomes]).toEqual(['UNKNOWN']);
  // With a deadline per transaction, all of them would have been sent.
  expect(asked).toBeLessThan(SIGNED.length);
  expect(tookMs).toBeLessThan(DEFAULT_DEADLINE_MS);
});

test('a source that does not answer delays no other source', async () => {
  const { outcomes, tookMs, received } = await send(sourcesOf(unresponsive, taking));
  expect([...outcomes]).toEqual(['ACCEPTED']);
  expect(received).toHaveLength(SIGNED.length);
  expect(tookMs).toBeLessThan(DEFAULT_DEADLINE_MS);
});

test('ends a broadcast at once when it is aborted', async () => {
  const { outcomes } = await send(sourcesOf(unresponsive), { signal: AbortSignal.abort() });
  expect([...outcomes]).toEqual(['UNKNOWN']);
});
