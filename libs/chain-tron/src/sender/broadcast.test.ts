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
/** Notices nothing, not even that nobody waits any more. */
const deaf: Answer = () => new Promise(() => undefined);
const taking: Answer = () => Promise.resolve({ result: true });
const sourcesOf = (...answers: readonly Answer[]) => {
  const witnesses = answers.map((answer, place) => ({
    label: `source ${place}`,
    call: (_: unknown, { signal }: { signal: AbortSignal }) => answer(signal),
  }));
  return { witnesses: () => witnesses } as unknown as TronSources;
};
const DEADLINE_MS = 60;
/** What it would take if it did not know of the one above. */
const DEFAULT_DEADLINE_MS = 20_000;

async function send(
  sources: TronSources,
  options = {},
): Promise<{ outcomes: Set<string>; tookMs: number; said: SendAnswer[] }> {
  const said: SendAnswer[] = [];
  const startedAt = performance.now();
  const outcomes = await broadcast(sources, SIGNED, (answer) => said.push(answer), options, DEADLINE_MS);
  expect(outcomes).toHaveLength(SIGNED.length);
  return { outcomes: new Set(outcomes), tookMs: performance.now() - startedAt, said };
}

test('ends by its deadline, however many there are to send and whatever a source does', async () => {
  let asked = 0;
  const counting: Answer = (signal) => {
    asked += 1;
    return deaf(signal);
  };
  const { outcomes, tookMs } = await send(sourcesOf(counting));
  expect([...outcomes]).toEqual(['UNKNOWN']);
  // Had each a time of its own, it would have come to all of them.
  expect(asked).toBeLessThan(SIGNED.length);
  expect(tookMs).toBeLessThan(DEFAULT_DEADLINE_MS);
});

test('one source that does not answer keeps nothing from another one, and takes nothing from what it said', async () => {
  const { outcomes, tookMs, said } = await send(sourcesOf(deaf, taking));
  expect([...outcomes]).toEqual(['ACCEPTED']);
  expect(said).toHaveLength(SIGNED.length);
  expect(tookMs).toBeLessThan(DEFAULT_DEADLINE_MS);
});

test('ends at once when it is told to', async () => {
  const { outcomes } = await send(sourcesOf(deaf), { signal: AbortSignal.abort() });
  expect([...outcomes]).toEqual(['UNKNOWN']);
});
