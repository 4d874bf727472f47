import { describe, expect, test } from 'vitest';
import { createDataForms, FORM_LIMITS, type DataForm } from './data-forms.ts';
import { byCodePoint, byIntegerFirst, byUtf16Unit } from './sort-members.ts';
import { DIALECTS } from './spelling.ts';
import { tokenizeJson } from './tokenize-json.ts';

function formsOf(data: string): readonly DataForm[] {
  const forms = createDataForms(tokenizeJson(Buffer.from(`{"data":${data},"z":{"y":" / "}}`)));
  return [...forms.literal(), ...forms.respelled()];
}
const namesOf = (data: string): string[] => formsOf(data).map(({ name }) => name);
const textsOf = (data: string): string[] => formsOf(data).map(({ bytes }) => Buffer.from(bytes).toString());

describe('data forms', () => {
  test('a sorted compact ASCII text has one form', () => {
    expect(namesOf('{"amount":"1.50","chain":"ETH","list":[{"a":1,"b":[]},{}]}')).toEqual(['as-received']);
  });

  test('no form is listed twice', () => {
    for (const data of [
      '{"b":"/","a":"é"}',
      '{ "b" : "\\/", "a" : "\\u00e9" }',
      '{"a":"\\"\\\\\\n"}',
      '{"2":"<","1":"\\b"}',
    ]) {
      const texts = textsOf(data);
      expect(new Set(texts).size).toBe(texts.length);
    }
  });

  test('all forms have the meaning of the received data', () => {
    const data =
      ' { "10" : "\\u003c/é" , "9" : [ 1.50 , { "\\u2028" : "\\b\\u007f" , "a" : null } ] , "😀" : {} , "\uff21" : 0 } ';
    const parsed: unknown = JSON.parse(data);
    const texts = textsOf(data);
    expect(texts.length).toBeGreaterThan(20);
    for (const text of texts) {
      expect(JSON.parse(text)).toEqual(parsed);
      expect(text).toContain('1.50');
    }
  });

  test('tries dialects that write a text identically only once', () => {
    expect(textsOf('{"a":"/"}')).toEqual(['{"a":"/"}', '{"a":"\\/"}']);
    expect(textsOf('{"a":"<"}')).toEqual(['{"a":"<"}', '{"a":"\\u003c"}']);
    expect(textsOf('{"a":"é"}')).toEqual(['{"a":"é"}', '{"a":"\\u00e9"}', '{"a":"\\u00E9"}']);
    expect(textsOf('{"a":"Ā"}')).toEqual(['{"a":"Ā"}', '{"a":"\\u0100"}']);
    expect(textsOf('{"a":"\u2028"}')).toEqual(['{"a":"\u2028"}', '{"a":"\\u2028"}']);
    expect(textsOf('{"a":"\\u001f"}')).toEqual(['{"a":"\\u001f"}', '{"a":"\\u001F"}']);
    expect(textsOf('{"a":"\\u007f"}')).toEqual(['{"a":"\\u007f"}', '{"a":"\u007f"}']);
  });

  test('unnecessary escapes are removed', () => {
    expect(textsOf('{"\\u0061":"\\u0022\\u005c\\u002f\\u0041"}')).toEqual([
      '{"\\u0061":"\\u0022\\u005c\\u002f\\u0041"}',
      '{"a":"\\"\\\\/A"}',
      '{"a":"\\"\\\\\\/A"}',
    ]);
  });

  test('data that is not an object has forms too', () => {
    expect(textsOf('[ "b" , "a" ]')).toEqual(['[ "b" , "a" ]', '["b","a"]']);
    expect(textsOf('"/"')).toEqual(['"/"', '"\\/"']);
    expect(textsOf('1.0')).toEqual(['1.0']);
  });

  test('a document without data has no forms', () => {
    const forms = createDataForms(tokenizeJson(Buffer.from('{"a":{"data":1}}')));
    expect([forms.literal(), forms.respelled()]).toEqual([[], []]);
  });
});

describe('sorted keys', () => {
  test('keys are sorted at every level, also inside lists', () => {
    expect(textsOf('{"b":[{"d":1,"c":{"f":2,"e":3}}],"a":4}')).toEqual([
      '{"b":[{"d":1,"c":{"f":2,"e":3}}],"a":4}',
      '{"a":4,"b":[{"c":{"e":3,"f":2},"d":1}]}',
    ]);
  });

  test('keys are sorted by their unescaped text', () => {
    expect(textsOf('{"b":1,"\\u0061":2}')).toContain('{"\\u0061":2,"b":1}');
    expect(textsOf('{"b":1,"\\u0061":2}')).toContain('{"a":2,"b":1}');
  });

  test('keys are sorted in each order in which languages differ', () => {
    expect(textsOf('{"😀":1,"\uff21":2,"a":3}')).toEqual(
      expect.arrayContaining(['{"a":3,"\uff21":2,"😀":1}', '{"a":3,"😀":1,"\uff21":2}']),
    );
    expect(textsOf('{"b":0,"10":1,"9":2}')).toEqual([
      '{"b":0,"10":1,"9":2}',
      '{"10":1,"9":2,"b":0}',
      '{"9":2,"10":1,"b":0}',
    ]);
  });

  test('key orders agree with JavaScript and with byte order', () => {
    const keys = [
      '',
      'a',
      'ab',
      'b',
      'B',
      '_',
      '0',
      '10',
      '9',
      '01',
      'é',
      '\ud7ff',
      '\ue000',
      '\uff21',
      '😀',
      '😀a',
      '\u{10ffff}',
    ];
    const byBytes = keys.toSorted((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
    expect(keys.toSorted(byCodePoint)).toEqual(byBytes);
    expect(keys.toSorted(byUtf16Unit)).toEqual(keys.toSorted());
    const object = Object.fromEntries(keys.toSorted().map((key) => [key, 1]));
    expect(keys.toSorted(byIntegerFirst)).toEqual(Object.keys(object));
    expect(['4294967295', '4294967294', 'a', '5'].toSorted(byIntegerFirst)).toEqual([
      '5',
      '4294967294',
      '4294967295',
      'a',
    ]);
  });
});

describe('bounds', () => {
  const literalNames = (data: string): string[] =>
    namesOf(data).filter((name) => !['as-received', 'compact'].includes(name));

  test('a request within the limits is tried in every form', () => {
    const escaped = '/<=\u007f\\b\\u001fé\u2028';
    const data = `{"description":"${'x'.repeat(500)}${escaped}","returnUrl":"https://shop.example/a?b=c&d=e","amount":"1"}`;
    const expected = 1 + DIALECTS.length * 2 + 1;
    expect(namesOf(data).length).toBeGreaterThanOrEqual(expected - 2);
    for (const { name } of DIALECTS.slice(1)) expect(namesOf(data)).toContain(`${name}+sorted`);
  });

  test('beyond the limits the received bytes and the tokens are still tried', () => {
    const long = `{ "b":"${'/'.repeat(FORM_LIMITS.dataBytes)}","a":1}`;
    expect(namesOf(long)).toEqual(['as-received', 'compact']);
    const special = `{ "b":"${'/'.repeat(FORM_LIMITS.edits + 1)}","a":1}`;
    expect(namesOf(special)).toEqual(['as-received', 'compact']);
    const spaced = `{"b":[${'1, '.repeat(FORM_LIMITS.edits + 1)} 1],"a":1}`;
    expect(namesOf(spaced)).toEqual(['as-received', 'compact']);
    const members = `{"z":"/",${Array.from({ length: FORM_LIMITS.members }, (_, index) => `"k${index}":1`).join(',')}}`;
    expect(literalNames(members).every((name) => !name.includes('sorted'))).toBe(true);
  });

  test('the cost of the forms of one body is limited', () => {
    const many = `{"b":"${'/<=\u007f\\b\\u001fé\u2028😀'.repeat(110)}","a":1}`;
    expect(literalNames(many).length).toBeLessThan(12);
    expect(literalNames(many).length).toBeGreaterThan(2);
  });
});
