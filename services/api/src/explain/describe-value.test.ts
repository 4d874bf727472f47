import { expect, it } from 'vitest';
import { oneOf, quote, wrongType } from './describe-value.ts';

it.each([
  ['12,50', "'12,50'"],
  ['a\u0000b\u202e\u00e9', "'a\\u0000b\\u202e\\u00e9'"],
  ['x'.repeat(40), `'${'x'.repeat(40)}'`],
  ['x'.repeat(41), `'${'x'.repeat(37)}...'`],
  ['\u00e9'.repeat(60_000), `'${'\\u00e9'.repeat(6)}\\...'`],
])('quotes %j in at most 40 printable characters', (text, quoted) => {
  expect(quote(text)).toBe(quoted);
  expect(quote(text)).toMatch(/^'[ -~]{0,40}'$/);
});

it('lists at most twelve allowed values', () => {
  const values = Array.from({ length: 14 }, (_, i) => `v${i}`);
  expect(oneOf(values)).toBe('one of v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11 and 2 more');
  expect(oneOf([])).toBe('none is configured');
});

it.each([
  [undefined, 'is missing'],
  [null, 'is missing'],
  [' ', 'is missing'],
  ['text', 'is a string'],
  [true, 'is a boolean'],
  [{ lexeme: '7' }, 'is a number'],
  [[], 'is a list'],
  [new Map(), 'is an object'],
])('names the type of %j', (value, problem) => {
  expect(wrongType('field', value, 'write text')).toBe(`field: ${problem}; write text`);
});
