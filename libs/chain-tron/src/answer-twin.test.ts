import { expect, test } from 'vitest';
import { createAnswerTwin, SAME } from './answer-twin.ts';

const body = (text: string): Buffer => Buffer.from(text);

test('the same bytes are read once: the same value while it is kept, and SAME after that', () => {
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

test('other bytes are read for themselves, and never taken for the first', () => {
  const twin = createAnswerTwin();
  const parse = (text: string) => twin.valueOf(body(text), () => JSON.parse(text) as unknown);
  const first = parse('{"a":1}');
  const other = parse('{"a":2}');
  expect(other).toEqual({ a: 2 });
  expect([twin.isFirst(first), twin.isFirst(other), twin.isFirst(undefined)]).toEqual([true, false, false]);
  // Not even the same in other words.
  expect(twin.isFirst(parse('{"a": 1}'))).toBe(false);
});

test('an answer that can’t be read is nobody’s first', () => {
  const twin = createAnswerTwin();
  const fail = (): unknown => {
    throw new Error('not JSON');
  };
  expect(() => twin.valueOf(body('{'), fail)).toThrow('not JSON');
  const value = twin.valueOf(body('[]'), () => []);
  expect(twin.isFirst(value)).toBe(true);
});
