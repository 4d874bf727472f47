import { expect, test } from 'vitest';
import type { SourceAnswer } from './ask-two-sources.ts';
import type { Source } from './source.ts';
import { selectQuorum } from './select-quorum.ts';

const sourceOf = (label: string): Source => ({ label, waitMs: () => 0 });
const [one, other] = [sourceOf('one'), sourceOf('other')];
const received: readonly SourceAnswer<Source, number>[] = [
  { source: one, answer: 1 },
  { source: other, answer: 2 },
];

function count(
  answers: readonly SourceAnswer<Source, number>[],
  accepted: readonly Source[],
  all: readonly Source[] = [one, other],
): readonly [counted: readonly number[], notified: readonly Source[]] {
  const notified: Source[] = [];
  const sources = {
    all: () => all,
    retryInMs: () => undefined,
    acceptsSingle: (source: Source) => accepted.includes(source),
  };
  return [selectQuorum(sources, answers, (source) => notified.push(source)), notified];
}

test('counts both of two answers, and a single one only when accepted', () => {
  expect(count(received, [])).toEqual([[1, 2], []]);
  for (const answer of received) {
    expect(() => count([answer], [])).toThrow(expect.objectContaining({ retryable: true }));
    expect(count([answer], [answer.source])).toEqual([[answer.answer], [answer.source]]);
  }
  // The only configured source raises no alarm.
  expect(count([received[0]!], [one], [one])).toEqual([[1], []]);
});

test('ignores a lagging source next to an accepted single one', () => {
  expect(count(received, [other])).toEqual([[2], [other]]);
  expect(count(received, [one, other])).toEqual([[1, 2], []]);
});
