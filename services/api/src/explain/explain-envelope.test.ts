import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { createDataForms } from '@opentill/contracts/signing/data-forms';
import { tokenizeJson } from '@opentill/contracts/signing/tokenize-json';
import {
  explainBody,
  explainData,
  explainDataSignature,
  explainExpired,
  explainMissingSign,
  explainNonce,
  explainOrderIdSignature,
  explainSignForm,
  explainTimestamp,
} from './explain-envelope.ts';

const NOW = 1_795_412_379;
const digest = (text: string) =>
  `${Buffer.byteLength(text)} bytes, SHA-256 ${createHash('sha256').update(text).digest('hex')}`;

it.each([
  [NOW * 1000, `milliseconds; seconds are expected, it is now ${NOW}`],
  [NOW - 600, `is 600 s in the past; at most 300 s, it is now ${NOW}`],
  [NOW + 301, `is 301 s in the future; at most 300 s, it is now ${NOW}`],
])('explains the timestamp %d outside the window', (seconds, detail) => {
  expect(explainExpired(seconds, NOW, 300)).toBe(`timestamp: ${detail}`);
});

const SECONDS = `an integer of Unix seconds without quotation marks, it is now ${NOW}`;
it.each([
  [undefined, `is missing; write ${SECONDS}`],
  ['1795412379', `is a string; write ${SECONDS}`],
  ['2026-11-23T17:00:00Z', `is a string; write ${SECONDS}`],
  [{ lexeme: '1.5' }, `'1.5' is not ${SECONDS}`],
])('explains the timestamp %j that is no integer', (value, detail) => {
  expect(explainTimestamp(value, NOW)).toBe(`timestamp: ${detail}`);
});

it('explains a nonce without repeating it', () => {
  const form = 'write a string of 1 to 128 printable ASCII characters';
  expect(explainNonce({ lexeme: '123456' })).toBe(`nonce: is a number; ${form}`);
  expect(explainNonce(undefined)).toBe(`nonce: is missing; ${form}`);
  expect(explainNonce('ü'.repeat(129))).toBe(
    `nonce: has 129 characters or some that are not printable ASCII; ${form}`,
  );
});

it('explains data that is no object, and an absent envelope', () => {
  expect(explainData('{"amount":"1"}')).toBe('data: is a string; write the JSON object itself, not its text');
  expect(explainData([])).toBe('data: is a list; write a JSON object');
  expect(explainMissingSign(undefined, false)).toBe(
    'sign: is missing; the body has the members sign, timestamp, nonce and data, and data has the fields of the order',
  );
  expect(explainMissingSign({ lexeme: '7' }, true)).toBe(
    'sign: is a number; write the hex HMAC-SHA256 of data as a string',
  );
});

it.each([
  ['{"a":', 'body: byte 5: a value was expected'],
  ['[]', 'body: byte 0: the top level is not an object'],
  ['{"a":1,"a":2}', 'body: byte 7: duplicate key'],
])('says where the body %s is wrong', (body, detail) => {
  expect(() => tokenizeJson(Buffer.from(body))).toThrow(
    expect.toSatisfy((error) => explainBody(error) === detail),
  );
  expect(explainBody(new Error('a secret'))).toBeUndefined();
});

it('describes a signature that is not 64 hex digits, without repeating it', () => {
  const hash = createHash('sha256').update('x');
  expect(explainSignForm(hash.copy().digest('hex').toUpperCase())).toBeUndefined();
  expect(explainSignForm(hash.copy().digest('base64'))).toBe(
    'sign: has 44 characters, which looks like base64; write 64 hex digits',
  );
  expect(explainSignForm('secret')).toBe('sign: has 6 characters; write 64 hex digits');
});

it('gives length and SHA-256 of each text that a signature of data may cover', () => {
  const explain = (data: string) => {
    const forms = createDataForms(tokenizeJson(Buffer.from(`{"data":${data}}`)));
    return explainDataSignature(forms, { timestamp: { literal: '17' }, nonce: 'n' }, '/v1/x');
  };
  const [compact, pretty] = ['{"a":"é"}', '{ "a": "é" }'];
  const head =
    'sign: is not the HMAC-SHA256 of data with the token of this merchant. Checked: data as received';
  const version2 = 'signVersion 2: timestamp.nonce.path.data';
  expect(explain(compact)).toBe(
    `${head}, ${digest(compact)}; ${version2}, ${digest(`17.n./v1/x.${compact}`)}`,
  );
  expect(explain(pretty)).toBe(
    `${head}, ${digest(pretty)}; without white space, ${digest(compact)}; ${version2}, ${digest(`17.n./v1/x.${pretty}`)}`,
  );
  expect(explain(pretty).length).toBeLessThan(600);
});

it('gives length and SHA-256 of an order id', () => {
  const detail = `sign: is not the HMAC-SHA256 of the orderId with the token of this merchant. Checked: ${digest('order-1')}`;
  expect(explainOrderIdSignature('order-1', false)).toBe(detail);
  expect(explainOrderIdSignature('order-1', true)).toBe(
    `${detail}; the sign of a paymentUrl does not open status`,
  );
});
