import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { bodyOf, type VectorFile } from '../../test-vectors/make-vectors/vector-file.ts';
import { canonicalData, createDataForms } from './data-forms.ts';
import { asNumberLexeme, asString, readMember } from './json-value.ts';
import { tokenizeJson } from './tokenize-json.ts';
import {
  canonicalDataHash,
  signOrderId,
  signText,
  verifyDataSignature,
  verifyOrderIdSignature,
  verifyRequestSignature,
  type SignatureVerdict,
} from './verify-signature.ts';

const FILE = JSON.parse(
  readFileSync(new URL('../../test-vectors/signatures.json', import.meta.url), 'utf8'),
) as VectorFile;
const TOKEN = FILE.token;

function verify(body: string | Uint8Array, sign: string, token = TOKEN): SignatureVerdict {
  const document = tokenizeJson(typeof body === 'string' ? Buffer.from(body, 'utf8') : Buffer.from(body));
  return verifyDataSignature({ forms: createDataForms(document), token, sign });
}

function isAccepted(verdict: () => SignatureVerdict): boolean {
  try {
    return verdict().ok;
  } catch (error) {
    expect((error as { code?: unknown }).code).toBe('BODY_NOT_JSON');
    return false;
  }
}

describe('conformance file', () => {
  test('the conformance file covers each serialiser and both verdicts', () => {
    const makers = new Set(FILE.requests.map(({ name }) => name.split('/')[0]));
    expect([...makers].sort()).toEqual(['by-hand', 'go', 'go-1.21', 'java', 'javascript', 'php', 'python']);
    const accepted = FILE.requests.filter(({ expect: expected }) => expected === 'accepted').length;
    expect(accepted).toBeGreaterThan(100);
    expect(FILE.requests.length - accepted).toBeGreaterThan(80);
    expect(new Set(FILE.requests.map(({ name }) => name)).size).toBe(FILE.requests.length);
  });

  test.each(FILE.requests.map((vector) => [vector.name, vector] as const))(
    'the signature of %s verifies as recorded',
    (_, vector) => {
      const body = bodyOf(vector);
      expect(isAccepted(() => verify(body, vector.sign))).toBe(vector.expect === 'accepted');
      expect(isAccepted(() => verify(body, vector.sign, 'yet-another-token'))).toBe(false);
    },
  );

  test('each dialect and key order is needed by some vector', () => {
    const forms = new Set<string>();
    for (const vector of FILE.requests.filter(({ expect: expected }) => expected === 'accepted')) {
      const verdict = verify(bodyOf(vector), vector.sign);
      if (verdict.ok) for (const part of verdict.form.split('+')) forms.add(part);
    }
    expect([...forms].sort()).toEqual([
      'as-received',
      'compact',
      'go',
      'go-1.21',
      'go-1.21-no-html',
      'gson',
      'jackson',
      'jackson-ascii',
      'javascript',
      'php-unescaped-slashes',
      'php-unescaped-slashes-unicode',
      'php-unescaped-unicode',
      'python-ascii',
      'sorted',
      'sorted-integers-first',
      'sorted-utf16',
    ]);
  });

  test.each(FILE.version2.map((vector) => [vector.name, vector] as const))(
    'the version 2 signature of %s verifies as recorded',
    (_, vector) => {
      const document = tokenizeJson(bodyOf(vector));
      const verdict = verifyRequestSignature({
        forms: createDataForms(document),
        token: TOKEN,
        sign: vector.sign,
        timestamp: asNumberLexeme(readMember(document, 'timestamp')) ?? '',
        nonce: asString(readMember(document, 'nonce')) ?? '',
        path: vector.path,
      });
      expect(verdict.ok).toBe(vector.expect === 'accepted');
      if (vector.name !== 'version-2/data-alone') expect(verify(bodyOf(vector), vector.sign).ok).toBe(false);
    },
  );

  test('signatures of order ids verify as recorded', () => {
    for (const { orderId, sign, expect: expected } of FILE.orderIds) {
      expect(verifyOrderIdSignature({ token: TOKEN, orderId, sign })).toBe(expected === 'accepted');
      expect(verifyOrderIdSignature({ token: TOKEN, orderId, sign: sign.toUpperCase() })).toBe(
        expected === 'accepted',
      );
      expect(verifyOrderIdSignature({ token: 'another', orderId, sign })).toBe(false);
      expect(signOrderId(TOKEN, orderId) === sign).toBe(expected === 'accepted');
    }
    expect(verifyOrderIdSignature({ token: TOKEN, orderId: 'A', sign: '' })).toBe(false);
  });
});

describe('signatures', () => {
  const data = '{"amount":"1","symbol":"USDT"}';
  const body = `{"data":${data}}`;

  test('signText reproduces RFC 4231, test case 2', () => {
    expect(signText('Jefe', 'what do ya want for nothing?')).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    );
  });

  test('a verified signature names its form', () => {
    expect(verify(body, signText(TOKEN, data))).toEqual({ ok: true, form: 'as-received' });
    expect(verify(body.replace(',', ' , '), signText(TOKEN, data))).toEqual({ ok: true, form: 'compact' });
  });

  test('a signature with any changed bit is rejected', () => {
    const sign = Buffer.from(signText(TOKEN, data), 'hex');
    for (let bit = 0; bit < 256; bit += 1) {
      const changed = Buffer.from(sign);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(verify(body, changed.toString('hex'))).toEqual({ ok: false });
    }
  });

  test('the forms of one body can be verified with several tokens', () => {
    const forms = createDataForms(tokenizeJson(Buffer.from('{"data":{"b":"/","a":1}}')));
    const sign = signText('second', '{"a":1,"b":"\\/"}');
    expect(verifyDataSignature({ forms, token: 'first', sign })).toEqual({ ok: false });
    expect(verifyDataSignature({ forms, token: 'second', sign })).toEqual({ ok: true, form: 'php+sorted' });
  });

  test('an empty token is rejected for signing and verifying', () => {
    expect(() => signText('', data)).toThrow(expect.objectContaining({ code: 'SIGNING_KEY_EMPTY' }));
    expect(() => verify(body, '0'.repeat(64), '')).toThrow(
      expect.objectContaining({ code: 'SIGNING_KEY_EMPTY' }),
    );
  });

  test('no signature verifies without data, not even that of an empty text', () => {
    for (const text of ['', 'null', 'undefined', '{}'])
      expect(verify('{"a":1}', signText(TOKEN, text)).ok).toBe(false);
  });
});

describe('canonical data', () => {
  const hashOf = (text: string): string => canonicalDataHash(tokenizeJson(Buffer.from(`{"data":${text}}`)));

  test('canonical data is sorted and spelled as JSON.stringify, with number literals', () => {
    const document = tokenizeJson(
      Buffer.from(
        '{"x":1,"data": {"b":[1.0, 1e2],"\\ud83d\\ude00":"\\/\\u00e9\\u001F","\uff21":{"z":"\\u2028","B":null}}}',
      ),
    );
    const text = '{"b":[1.0,1e2],"\uff21":{"B":null,"z":"\u2028"},"😀":"/é\\u001f"}';
    expect(canonicalData(document).toString()).toBe(text);
    expect(canonicalDataHash(document)).toBe(createHash('sha256').update(text).digest('hex'));
  });

  test('canonical data is equal exactly for bodies that one signature covers', () => {
    expect(hashOf('{"a":"\\u0031/","b":1}')).toBe(hashOf(' { "b" : 1, "\\u0061" : "1\\/" } '));
    const others = [
      '{"a":1}',
      '{"a":1.0}',
      '{"a":"1"}',
      '{"A":1}',
      '{"a":[1]}',
      '{"a":1,"b":null}',
      '{"a":-1}',
      '{"a":10e-1}',
    ];
    expect(new Set(others.map(hashOf)).size).toBe(others.length);
  });

  test('canonical data has only the limits of the tokenizer', () => {
    const members = Array.from({ length: 4_000 }, (_, index) => `"k${4_000 - index}":"/"`).join(',');
    const sorted = JSON.parse(
      canonicalData(tokenizeJson(Buffer.from(`{"data":{${members}}}`))).toString(),
    ) as object;
    expect(Object.keys(sorted)).toEqual(Object.keys(sorted).toSorted());
    expect(Object.keys(sorted).length).toBe(4_000);
  });

  test('canonical data fails without data', () => {
    expect(() => canonicalDataHash(tokenizeJson(Buffer.from('{}')))).toThrow(RangeError);
  });
});
