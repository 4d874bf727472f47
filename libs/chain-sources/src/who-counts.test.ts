import { expect, test } from 'vitest';
import type { Said } from './ask-two-sources.ts';
import type { Source } from './source.ts';
import { whoCounts } from './who-counts.ts';

const sourceOf = (label: string): Source => ({ label, waitMs: () => 0 });
const [one, other] = [sourceOf('one'), sourceOf('other')];
const said: readonly Said<Source, number>[] = [
  { source: one, answer: 1 },
  { source: other, answer: 2 },
];

/** What counts of the answers, and of whom it was told that it stands alone. */
function count(
  answers: readonly Said<Source, number>[],
  alone: readonly Source[],
  all: readonly Source[] = [one, other],
): readonly [counted: readonly number[], told: readonly Source[]] {
  const told: Source[] = [];
  const sources = {
    all: () => all,
    againInMs: () => undefined,
    mayStandAlone: (source: Source) => alone.includes(source),
  };
  return [whoCounts(sources, answers, (source) => told.push(source)), told];
}

test('both of two count, and one alone only when it may stand alone', () => {
  expect(count(said, [])).toEqual([[1, 2], []]);
  for (const answer of said) {
    expect(() => count([answer], [])).toThrow(expect.objectContaining({ retryable: true }));
    expect(count([answer], [answer.source])).toEqual([[answer.answer], [answer.source]]);
  }
  // The only one that is configured is nobody's alarm.
  expect(count([said[0]!], [one], [one])).toEqual([[1], []]);
});

test('beside one that stands alone the other does not count, unless both are long behind by the clock', () => {
  expect(count(said, [other])).toEqual([[2], [other]]);
  expect(count(said, [one, other])).toEqual([[1, 2], []]);
});
