import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { GatewayError } from '@opentill/domain/gateway-error';
import {
  asArray,
  asNumberLexeme,
  asObject,
  asSafeInteger,
  asString,
  readEnvelope,
  readMember,
} from './json-value.ts';
import type { JsonValue } from './json-value.ts';
import { MAX_JSON_DEPTH, MAX_JSON_VALUES, tokenizeJson } from './tokenize-json.ts';

const read = (text: string): ReadonlyMap<string, JsonValue> =>
  readEnvelope(tokenizeJson(Buffer.from(text, 'utf8')));

function toPlain(value: JsonValue): unknown {
  const members = asObject(value);
  if (members !== undefined) {
    return Object.fromEntries([...members].map(([key, member]) => [key, toPlain(member)]));
  }
  const lexeme = asNumberLexeme(value);
  if (lexeme !== undefined) return Number(lexeme);
  return asArray(value)?.map(toPlain) ?? value;
}

function refusal(body: Uint8Array | string): Readonly<Record<string, unknown>> {
  try {
    tokenizeJson(typeof body === 'string' ? Buffer.from(body, 'utf8') : Buffer.from(body));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    expect(error.code).toBe('BODY_NOT_JSON');
    expect(error.retryable).toBe(false);
    expect(error.message).toBe('The request body is not valid JSON.');
    return error.context;
  }
  throw new Error(`accepted: ${String(body)}`);
}

describe('JSON values', () => {
  test('numbers keep their literals', () => {
    const data = read('{"a":12.50,"b":-0,"c":1E+22,"d":12345678901234567890}');
    expect([...data].map(([key, value]) => [key, asNumberLexeme(value)])).toEqual([
      ['a', '12.50'],
      ['b', '-0'],
      ['c', '1E+22'],
      ['d', '12345678901234567890'],
    ]);
  });

  test('asSafeInteger accepts only numbers written as integers', () => {
    const texts = [
      '1790000000',
      '-5',
      '0',
      '9007199254740991',
      '9007199254740992',
      '1.0',
      '1e3',
      '"1"',
      'null',
      'true',
    ];
    const integers = texts.map((text) => asSafeInteger(read(`{"a":${text}}`).get('a')));
    expect(integers.slice(0, 4)).toEqual([1790000000, -5, 0, 9007199254740991]);
    expect(integers.slice(4)).toEqual([undefined, undefined, undefined, undefined, undefined, undefined]);
    expect(Object.is(asSafeInteger({ lexeme: '-0' }), 0)).toBe(true);
  });

  test('accessors accept only values of their kind', () => {
    const values = read('{"string":"1","number":1,"list":[],"object":{},"null":null,"true":true}');
    const kinds = [...values].map(([, value]) => [
      asString(value) !== undefined,
      asNumberLexeme(value) !== undefined,
      asArray(value) !== undefined,
      asObject(value) !== undefined,
    ]);
    expect(kinds).toEqual([
      [true, false, false, false],
      [false, true, false, false],
      [false, false, true, false],
      [false, false, false, true],
      [false, false, false, false],
      [false, false, false, false],
    ]);
    expect([asString(undefined), asNumberLexeme(undefined), asArray(undefined), asObject(undefined)]).toEqual(
      [undefined, undefined, undefined, undefined],
    );
  });

  test('keys keep their order, and objects have no inherited members', () => {
    const data = read('{"b":1,"10":2,"a":3,"9":4}');
    expect([...data.keys()]).toEqual(['b', '10', 'a', '9']);
    expect(data.get('toString')).toBeUndefined();
    expect(data.get('constructor')).toBeUndefined();
  });

  test('members are found by their unescaped key, at the top level only', () => {
    const document = tokenizeJson(Buffer.from('{"a":{"data":1},"d\\u0061ta":2,"z":[{"sign":3}]}'));
    expect(readMember(document, 'data')).toEqual({ lexeme: '2' });
    expect(readMember(document, 'sign')).toBeUndefined();
    expect(readMember(document, '')).toBeUndefined();
  });

  test('strings are unescaped', () => {
    expect(read('{"\\u006b":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\ude00é\u2028😀"}').get('k')).toBe(
      '"\\/\b\f\n\r\té😀é\u2028😀',
    );
  });
});

describe('rejected bodies', () => {
  test.each([
    ['', 0, 'the top level is not an object'],
    ['[]', 0, 'the top level is not an object'],
    ['  "a"', 2, 'the top level is not an object'],
    ['{}{}', 2, 'text after the object'],
    ['{"a":1,"a":2}', 7, 'duplicate key'],
    ['{"a":1,"b":2,"\\u0061":3}', 13, 'duplicate key'],
    ['{"é":1,"x":2,"\\u00e9":3}', 14, 'duplicate key'],
    ['{"x":[{"a":1},{"b":1,"c":2,"b":3}]}', 27, 'duplicate key'],
    ['{"a":{"__proto__":1}}', 6, 'the key __proto__'],
    ['{"__pr\\u006fto__":1}', 1, 'the key __proto__'],
    ['{"a":"\\ud800"}', 6, 'a lone surrogate'],
    ['{"a":"\\udc00"}', 6, 'a lone surrogate'],
    ['{"a":"\\ud800\\u0041"}', 6, 'a lone surrogate'],
    ['{"a":"\\ud800\\n"}', 6, 'a lone surrogate'],
    ['{"a":"\\ud800\\ud800\\udc00"}', 6, 'a lone surrogate'],
    ['{"a":"', 6, 'a string without an end'],
    ['{"a":"\n"}', 6, 'a control character in a string'],
    ['{"a":"\\', 6, 'an unknown escape'],
    ['{"a":"\\u00', 6, 'an unknown escape'],
    ['{"a":"\\a"}', 6, 'an unknown escape'],
    ['{"a":01}', 6, 'a comma or a closing bracket was expected'],
    ['{"a":-}', 5, 'a value was expected'],
    ['{"a":}', 5, 'a value was expected'],
    ['{"a":nul}', 5, 'a value was expected'],
    ['{,}', 1, 'a key was expected'],
    ['{"a":1,}', 7, 'a key was expected'],
    ['{"a"}', 4, 'a colon was expected'],
    ['{"a":1', 6, 'a comma or a closing bracket was expected'],
    ['\ufeff{}', 0, 'byte order mark'],
  ])('a body %j is rejected with offset %d: %s', (text, offset, reason) => {
    expect(refusal(text)).toEqual({ offset, reason });
  });

  test('invalid UTF-8 is rejected with its offset', () => {
    const withBytes = (...bytes: number[]): Buffer =>
      Buffer.concat([Buffer.from('{"é":"'), Buffer.from(bytes), Buffer.from('"}')]);
    for (const bytes of [
      [0xc0, 0xaf],
      [0xe0, 0x80, 0xaf],
      [0xed, 0xa0, 0xbd],
      [0xf4, 0x90, 0x80, 0x80],
      [0xff],
      [0xe2, 0x80],
    ]) {
      expect(refusal(withBytes(...bytes))).toEqual({ offset: 7, reason: 'not valid UTF-8' });
    }
  });

  test('a body with one level or value too many is rejected', () => {
    const nested = (depth: number): string => `${'{"a":'.repeat(depth - 1)}[]${'}'.repeat(depth - 1)}`;
    expect(read(nested(MAX_JSON_DEPTH)).size).toBe(1);
    expect(refusal(nested(MAX_JSON_DEPTH + 1))['reason']).toBe('nested deeper than 16');
    expect(refusal(`{"a":${'['.repeat(60_000)}`)['reason']).toBe('nested deeper than 16');
    const list = (values: number): string => `{"a":[${'1,'.repeat(values - 3)}1]}`;
    expect(asArray(read(list(MAX_JSON_VALUES)).get('a'))?.length).toBe(MAX_JSON_VALUES - 2);
    expect(refusal(list(MAX_JSON_VALUES + 1))['reason']).toBe('more than 4096 values');
  });
});

describe('comparison with JSON.parse', () => {
  const json = fc
    .jsonValue({ stringUnit: 'binary', maxDepth: 8 })
    .filter((value) => !JSON.stringify(value).includes('__proto__'));
  const isWellFormed = (text: string): boolean => !/\\ud[89a-f]/.test(text);

  test('any JSON value is read as by JSON.parse, with any spacing and escaping', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'binary' }), json),
        fc.constantFrom(0, 1, '\t'),
        fc.boolean(),
        (object, indent, isAscii) => {
          let text = JSON.stringify(object, null, indent);
          fc.pre(isWellFormed(text) && !text.includes('__proto__'));
          if (isAscii) {
            text = text.replaceAll(
              /[^\t\n -~]/g,
              (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
            );
          }
          const parsed: unknown = JSON.parse(text);
          expect(toPlain(read(text))).toEqual(parsed);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test('accepted texts equal JSON.parse; other rejections have a specific reason', () => {
    const fragments = [
      '{',
      '}',
      '[',
      ']',
      '"',
      ':',
      ',',
      '"a"',
      '"b":',
      '\\',
      '\\u0061',
      '\\ud800',
      '\\udc00',
      '-',
      '0',
      '1',
      '.5',
      'e1',
      'true',
      'null',
      ' ',
      '\t',
      '\u0001',
      'é',
      '"a":1,',
      '{"a":',
      '[1,',
    ];
    const own = /duplicate key|__proto__|lone surrogate|nested deeper|values|top level/;
    const counts = { accepted: 0, refused: 0, refusedBeyondJson: 0 };
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...fragments), { maxLength: 12 }),
        fc.boolean(),
        (parts, isWrapped) => {
          const text = isWrapped ? `{"x":${parts.join('')}}` : parts.join('');
          let parsed: unknown;
          let isJson = true;
          try {
            parsed = JSON.parse(text);
          } catch {
            isJson = false;
          }
          let value: JsonValue | undefined;
          let reason = '';
          try {
            value = read(text);
          } catch (error) {
            reason = String((error as GatewayError).context['reason']);
          }
          if (value !== undefined) {
            counts.accepted += 1;
            expect(isJson).toBe(true);
            expect(toPlain(value)).toEqual(parsed);
          } else if (isJson) {
            counts.refusedBeyondJson += 1;
            expect(reason).toMatch(own);
          } else counts.refused += 1;
        },
      ),
      { numRuns: 6_000 },
    );
    expect(counts.accepted).toBeGreaterThan(15);
    expect(counts.refused).toBeGreaterThan(1_000);
    expect(counts.refusedBeyondJson).toBeGreaterThan(15);
  });
});
