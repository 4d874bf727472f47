import { describe, expect, it } from 'vitest';
import { sunIn } from './node-value.ts';
import { parseAnswer } from './parse-answer.ts';

const parse = (text: string): unknown => parseAnswer(Buffer.from(text));

describe('parseAnswer', () => {
  it('keeps integers above 2^53 exact in any place', () => {
    expect(parse('{"amount":9007199254740993}')).toEqual({ amount: 9_007_199_254_740_993n });
    expect(parse('{"a":[9007199254740993, -9223372036854775808],"b":{"c": 9223372036854775807}}')).toEqual({
      a: [9_007_199_254_740_993n, -9_223_372_036_854_775_808n],
      b: { c: 9_223_372_036_854_775_807n },
    });
    expect(parse('9223372036854775807')).toBe(2 ** 63); // not an answer of a node; sunIn rejects it
    expect(() => sunIn(2 ** 63, 'amount')).toThrow();
  });

  it('keeps smaller numbers, and strings that look like numbers, unchanged', () => {
    const text = '{"a":9007199254740991,"b":"1234567890123456789","c":":1234567890123456","d":1795229325000}';
    expect(parse(text)).toEqual({
      a: 9_007_199_254_740_991,
      b: '1234567890123456789',
      c: ':1234567890123456',
      d: 1_795_229_325_000,
    });
  });

  it('returns non-integers that sunIn rejects as amounts', () => {
    for (const text of ['1.5', '1e30', '12345678901234567.5', '"7"', '-1', 'null', 'true'])
      expect(() => sunIn((parse(`{"v":${text}}`) as { v: unknown }).v, 'amount')).toThrow(
        expect.objectContaining({ code: 'INCONSISTENT_ANSWER' }),
      );
    expect([sunIn(undefined, 'amount'), sunIn(7, 'amount'), sunIn(2n ** 60n, 'amount')]).toEqual([
      0n,
      7n,
      2n ** 60n,
    ]);
  });
});
