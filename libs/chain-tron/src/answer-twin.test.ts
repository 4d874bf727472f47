import { expect, test } from 'vitest';
import { createAnswerTwin, SAME } from './answer-twin.ts';

const body = (text: string): Buffer => Buffer.from(text);

test('parses equal bytes once and returns SAME after the release', () => {
  const twin = createAnswerTwin();
  let times = 0;
  const read = (): object => ({ times: (times += 1) });
  const first = twin.valueOf(body('{"a":1}'), read);
  expect(twin.valueOf(body('{"a":1}'), read)).toBe(first);
  expect(twin.isFirst(first)).toBe(true);
  twin.release();
  expect(twin.valueOf(body('{"a":1}'), read)).toBe(SAME);
  expect(twin.isFirst(SAME)).toBe(true);
  expect(times).toBe(1);
  expect(twin.again()).toEqual({ times: 2 });
});

test('parses other bytes separately and never takes them for the first answer', () => {
  const twin = createAnswerTwin();
  const parse = (text: string) => twin.valueOf(body(text), () => JSON.parse(text) as unknown);
  const first = parse('{"a":1}');
  const other = parse('{"a":2}');
  expect(other).toEqual({ a: 2 });
  expect([twin.isFirst(first), twin.isFirst(other), twin.isFirst(undefined)]).toEqual([true, false, false]);
  // Equal JSON in other bytes does not count.
  expect(twin.isFirst(parse('{"a": 1}'))).toBe(false);
});

test('does not keep an answer that cannot be parsed', () => {
  const twin = createAnswerTwin();
  const fail = (): unknown => {
    throw new Error('not JSON');
  };
  expect(() => twin.valueOf(body('{'), fail)).toThrow('not JSON');
  const value = twin.valueOf(body('[]'), () => []);
  expect(twin.isFirst(value)).toBe(true);
});
