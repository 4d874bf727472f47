import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import type { VectorFile } from '../../test-vectors/make-vectors/vector-file.ts';
import {
  buildCallbackBody,
  callbackHeaders,
  serializeCallbackData,
  signCallback,
  toPortableText,
  type CallbackValue,
} from './callback.ts';
import { createDataForms } from './data-forms.ts';
import { tokenizeJson } from './tokenize-json.ts';
import { verifyDataSignature } from './verify-signature.ts';

const FILE = JSON.parse(
  readFileSync(new URL('../../test-vectors/signatures.json', import.meta.url), 'utf8'),
) as VectorFile;

describe('callback data', () => {
  test('callback data is compact, sorted at every level and printable ASCII', () => {
    expect(serializeCallbackData({ b: [{ d: 1, c: null }], a: 'é\u2028😀\n\u007f"\\', _: true, A: -5 })).toBe(
      '{"A":-5,"_":true,"a":"\\u00e9\\u2028\\ud83d\\ude00\\n\\u007f\\"\\\\","b":[{"c":null,"d":1}]}',
    );
  });

  test.each<[string, CallbackValue, string]>([
    ['a float', { fee: 0.5 }, 'data.fee'],
    ['a number beyond 2^53', { a: { n: 2 ** 53 } }, 'data.a.n'],
    ['not a number', { n: Number.NaN }, 'data.n'],
    ['an integer-like key', { list: [{ 0: 'x' }] }, 'data.list[0].0'],
    ['a key with a slash', { 'a/b': 1 }, 'data.a/b'],
    ['a slash', { url: 'https://x' }, 'data.url'],
    ['an ampersand', { a: 'x&y' }, 'data.a'],
    ['an apostrophe', { a: "it's" }, 'data.a'],
    ['a lone surrogate', { a: '\ud800' }, 'data.a'],
    ['an empty object', { a: {} }, 'data.a'],
    ['undefined', { a: undefined as unknown as null }, 'data.a'],
    ['a bigint', { a: 1n as unknown as null }, 'data.a'],
    ['__proto__', JSON.parse('{"__proto__":1}') as CallbackValue, 'data.__proto__'],
  ])('callback data with %s is refused', (_, data, path) => {
    expect(() => serializeCallbackData(data as Readonly<Record<string, CallbackValue>>)).toThrow(
      expect.objectContaining({
        code: 'CALLBACK_DATA_NOT_PORTABLE',
        retryable: false,
        context: expect.objectContaining({ path }),
      }),
    );
  });

  test('all dialects and key orders serialise portable text identically', () => {
    const text = fc.string({ unit: 'binary', maxLength: 40 }).map(toPortableText);
    const key = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,6}$/).filter((name) => name !== '__proto__');
    const leaf = fc.oneof(text, fc.maxSafeInteger(), fc.boolean(), fc.constant(null));
    const data = fc.dictionary(
      key,
      fc.oneof(leaf, fc.array(leaf), fc.dictionary(key, leaf, { minKeys: 1 })),
      { minKeys: 1 },
    );
    fc.assert(
      fc.property(data, (value) => {
        const dataText = serializeCallbackData(value);
        const forms = createDataForms(tokenizeJson(Buffer.from(`{"data":${dataText}}`)));
        expect([forms.literal().length, forms.respelled().length]).toEqual([1, 0]);
        expect(JSON.parse(dataText)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { numRuns: 200 },
    );
  });

  test('toPortableText replaces characters that are not portable', () => {
    expect(toPortableText('Customer\'s refund:\n see https://x/y?a=b & c, caf\u00e9 "x" 😀')).toBe(
      'Customer-s refund: see https:--x-y?a-b - c, caf- "x" -',
    );
    expect(toPortableText('Paid after expiry')).toBe('Paid after expiry');
  });
});

describe('callback envelope', () => {
  const input = {
    dataText: '{"orderId":"A-1"}',
    nonce: 'event-1',
    notifyType: 'ORDER_SUCCESS',
    timestampSeconds: 1_790_000_000,
    secret: 'dev-webhook-secret',
  };

  test('a callback body has its members in order, and its sign covers data', () => {
    const body = buildCallbackBody(input);
    const sign = createHmac('sha256', input.secret).update(input.dataText).digest('hex');
    expect(body).toBe(
      `{"sign":"${sign}","timestamp":1790000000,"nonce":"event-1","notifyType":"ORDER_SUCCESS","data":{"orderId":"A-1"}}`,
    );
    expect(signCallback(input.secret, input.dataText)).toBe(sign);
    const forms = createDataForms(tokenizeJson(Buffer.from(body)));
    expect(verifyDataSignature({ forms, token: input.secret, sign }).ok).toBe(true);
  });

  test('callbacks of the conformance file are reproduced', () => {
    expect(FILE.callbacks.length).toBeGreaterThan(1);
    for (const { data, eventId, notifyType, timestampSeconds, secret, body, headers } of FILE.callbacks) {
      const dataText = serializeCallbackData(data as Readonly<Record<string, CallbackValue>>);
      expect(buildCallbackBody({ dataText, nonce: eventId, notifyType, timestampSeconds, secret })).toBe(
        body,
      );
      expect(callbackHeaders({ body, dataText, eventId, timestampSeconds, secret })).toEqual(headers);
    }
  });

  test('Standard Webhooks headers agree with the reference libraries', () => {
    const headers = callbackHeaders({
      body: '{"test": 2432232314}',
      dataText: '{}',
      eventId: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      timestampSeconds: 1_614_265_330,
      secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    });
    expect(headers['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
    expect(headers['webhook-id']).toBe('msg_p5jXN8AQM9LWM0D4loKWxJek');
    expect(headers['webhook-timestamp']).toBe('1614265330');
  });

  test('golden: during a secret change both secrets sign, the current one as before', () => {
    const { nonce: eventId, ...rest } = { ...input, nextSecret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' };
    const headers = callbackHeaders({ ...rest, eventId, body: buildCallbackBody(input) });
    expect(headers).toEqual({
      'webhook-id': 'event-1',
      'webhook-timestamp': '1790000000',
      'webhook-signature':
        'v1,BQfl0EtY+Zvju+tkpSFY8La8r2cR2CYvewD7m5AeN/Y= v1,ZdEhCgn6b9tksyLVlIhL3vFUxj3xflwBcnvoPjcPI0c=',
      'X-Signature': '27406e40404ff9807e075afeb20d6a7deab1dd0a0091fd6f2359ea4e4ff376ff',
      'X-Signature-Next': '0efb3ee5d0c9e934f74097bb64d13f240c5e97b5c6196e4474a3e611306bbeb1',
      'X-Timestamp': '1790000000',
    });
  });

  test('during a secret change each of both secrets verifies, and no other', () => {
    const secret = fc.oneof(
      fc.string({ minLength: 1, maxLength: 40 }),
      fc.base64String({ minLength: 4, maxLength: 40 }).map((key) => `whsec_${key}`),
    );
    fc.assert(
      fc.property(secret, secret, secret, (old, next, other) => {
        fc.pre(old !== next && other !== old && other !== next);
        const { dataText, nonce: eventId, timestampSeconds } = input;
        const body = buildCallbackBody({ ...input, secret: old });
        const headersWith = (key: string) =>
          callbackHeaders({ body, dataText, eventId, timestampSeconds, secret: key });
        const both = callbackHeaders({
          body,
          dataText,
          eventId,
          timestampSeconds,
          secret: old,
          nextSecret: next,
        });
        expect(both['webhook-signature'].split(' ')).toEqual([
          headersWith(old)['webhook-signature'],
          headersWith(next)['webhook-signature'],
        ]);
        // Existing receivers read these fields.
        expect({ ...both, 'webhook-signature': '', 'X-Signature-Next': '' }).toEqual({
          ...headersWith(old),
          'webhook-signature': '',
          'X-Signature-Next': '',
        });
        // After the change `sign` equals the former X-Signature-Next.
        expect(both['X-Signature-Next']).toBe(signCallback(next, dataText));
        expect(headersWith(next)['X-Signature']).toBe(both['X-Signature-Next']);
        const forms = createDataForms(tokenizeJson(Buffer.from(body)));
        const verifies = (key: string, sign: string) => verifyDataSignature({ forms, token: key, sign }).ok;
        expect(verifies(old, both['X-Signature'])).toBe(true);
        expect(verifies(next, both['X-Signature-Next'] ?? '')).toBe(true);
        expect(verifies(other, both['X-Signature']) || verifies(other, both['X-Signature-Next'] ?? '')).toBe(
          false,
        );
      }),
      { numRuns: 300 },
    );
  });

  test('callbackHeaders rejects an event id that makes the signed text ambiguous', () => {
    const body = buildCallbackBody(input);
    for (const eventId of ['a.b', '', 'a b']) {
      expect(() => callbackHeaders({ ...input, body, eventId })).toThrow(RangeError);
    }
  });
});
