import { expect, test } from 'vitest';
import { readerError } from '@opentill/chain/reader-error';
import { askTwoSources } from './ask-two-sources.ts';
import type { Source } from './source.ts';
import { createSources, type Sources } from './sources.ts';

const AFTER_MS = 60_000;
const down = (): Error => readerError('RPC_UNAVAILABLE', 'connection refused');

interface World {
  readonly sources: Sources<Source>;
  readonly living: Source;
  readonly dead: Source;
  /** The dead source keeps failing; the living one also fails for `failsMs` of the time. */
  pass(ms: number, failsMs?: number): void;
}

function world(aloneAfterSeconds: number | 'never' = AFTER_MS / 1_000): World {
  let nowMs = 5_000_000;
  const notes: { noteAnswer(): void; noteFailure(error: unknown): void }[] = [];
  const sources = createSources<Source>({
    createSources: ['living', 'dead'].map((label) => (own) => {
      notes.push(own);
      return { label, waitMs: () => 0 };
    }),
    readHead: () => Promise.reject(down()),
    blockTimeMs: 3_000,
    aloneAfterSeconds,
    nowMs: () => nowMs,
    epochMs: () => nowMs,
    random: () => 1,
  });
  const [living, dead] = sources.all() as [Source, Source];
  notes[1]!.noteFailure(down());
  return {
    sources,
    living,
    dead,
    pass(ms, failsMs = 0) {
      if (failsMs > 0) notes[0]!.noteFailure(down());
      nowMs += failsMs;
      notes[0]!.noteAnswer();
      nowMs += ms - failsMs;
      notes[1]!.noteFailure(down());
    },
  };
}

test('accepts a single source exactly after the others failed for aloneAfterSeconds', () => {
  const { sources, living, dead, pass } = world();
  pass(AFTER_MS - 1);
  expect(sources.acceptsSingle(living)).toBe(false);
  pass(1);
  expect([living, dead].map((source) => sources.acceptsSingle(source))).toEqual([true, false]);
});

test('delays a single source by no more than the duration of its failures', () => {
  const { sources, living, pass } = world();
  for (let time = 0; time < 30; time += 1) pass(2_000, 200);
  expect(sources.acceptsSingle(living)).toBe(false);
  pass(6_000);
  expect(sources.acceptsSingle(living)).toBe(true);
});

test('requires the full time of the first source that recovers from a common outage', () => {
  const { sources, living, pass } = world();
  pass(1_000_000, 1_000_000 - 1);
  expect(sources.acceptsSingle(living)).toBe(false);
  pass(AFTER_MS - 2);
  expect(sources.acceptsSingle(living)).toBe(false);
  pass(1);
  expect(sources.acceptsSingle(living)).toBe(true);
});

test('never accepts a single source when configured as never', () => {
  const { sources, living, pass } = world('never');
  pass(10 ** 9);
  expect(sources.acceptsSingle(living)).toBe(false);
});

test('retries a two-source question as soon as a single source is accepted', async () => {
  const { sources, living, pass } = world();
  for (let time = 0; time < 11; time += 1) pass(5_000);
  const question = {
    ask: () => Promise.resolve('the same'),
    height: undefined,
    onSingleSource: () => undefined,
  };
  const remainingMs = AFTER_MS - 55_000;
  await expect(askTwoSources(sources, question, {})).rejects.toMatchObject({
    code: 'RPC_UNAVAILABLE',
    context: { retryAfterMs: remainingMs },
  });
  pass(remainingMs);
  const [first, other] = await askTwoSources(sources, question, {});
  expect([first.source, other]).toEqual([living, undefined]);
});
