import { expect, test } from 'vitest';
import { createAnswerDeduplicator, SAME } from './deduplicate-answers.ts';

const body = (text: string): Buffer => Buffer.from(text);

test('parses equal bytes once and returns SAME after the release', () => {
  const deduplicator = createAnswerDeduplicator();
  let times = 0;
  const read = (): object => ({ times: (times += 1) });
  const first = deduplicator.valueOf(body('{"a":1}'), read);
  expect(deduplicator.valueOf(body('{"a":1}'), read)).toBe(first);
  expect(deduplicator.isFirst(first)).toBe(true);
  deduplicator.release();
  expect(deduplicator.valueOf(body('{"a":1}'), read)).toBe(SAME);
  expect(deduplicator.isFirst(SAME)).toBe(true);
  expect(times).toBe(1);
  expect(deduplicator.parseAgain()).toEqual({ times: 2 });
});

test('parses other bytes separately and never takes them for the first answer', () => {
  const deduplicator = createAnswerDeduplicator();
  const parse = (text: string) => deduplicator.valueOf(body(text), () => JSON.parse(text) as unknown);
  const first = parse('{"a":1}');
  const other = parse('{"a":2}');
  expect(other).toEqual({ a: 2 });
  expect([deduplicator.isFirst(first), deduplicator.isFirst(other), deduplicator.isFirst(undefined)]).toEqual(
    [true, false, false],
  );
  expect(deduplicator.isFirst(parse('{"a": 1}'))).toBe(false);
});

test('does not keep an answer that cannot be parsed', () => {
  const deduplicator = createAnswerDeduplicator();
  const fail = (): unknown => {
    throw new Error('not JSON');
  };
  expect(() => deduplicator.valueOf(body('{'), fail)).toThrow('not JSON');
  const value = deduplicator.valueOf(body('[]'), () => []);
  expect(deduplicator.isFirst(value)).toBe(true);
});
