import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import { openSecret, parseSecretsKey, sealSecret, tokenAad, webhookSecretAad } from './sealed-secret.ts';

const key = Buffer.alloc(32, 7);
const unreadable = expect.objectContaining({ code: 'SECRET_UNREADABLE', retryable: false });

describe('sealed secrets', () => {
  test('property: a sealed secret opens with the same key and owner', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), fc.string(), (plain, aad) => {
        expect(openSecret(key, sealSecret(key, plain, aad), aad)).toBe(plain);
      }),
    );
  });

  test('sealing the same secret twice gives different bytes', () => {
    expect(sealSecret(key, 'x', 'a').equals(sealSecret(key, 'x', 'a'))).toBe(false);
  });

  test('a sealed secret does not open with another key or another owner', () => {
    const sealed = sealSecret(key, 'token', tokenAad('shop'));
    expect(() => openSecret(Buffer.alloc(32, 8), sealed, tokenAad('shop'))).toThrow(unreadable);
    expect(() => openSecret(key, sealed, tokenAad('shop2'))).toThrow(unreadable);
    expect(() => openSecret(key, sealed, webhookSecretAad('shop'))).toThrow(unreadable);
  });

  test('opening rejects a sealed secret with a flipped bit or a missing byte', () => {
    const sealed = sealSecret(key, 'a webhook secret', 'a');
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const tampered = Buffer.from(sealed);
      tampered[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => openSecret(key, tampered, 'a')).toThrow(unreadable);
    }
    for (let length = 0; length < sealed.length; length += 1) {
      expect(() => openSecret(key, sealed.subarray(0, length), 'a')).toThrow(unreadable);
    }
    expect(() => openSecret(key, Buffer.concat([sealed, Buffer.of(0)]), 'a')).toThrow(unreadable);
  });

  test('the secrets key is 32 bytes in base64', () => {
    const bytes = randomBytes(32);
    expect(parseSecretsKey(`${bytes.toString('base64')}\n`).equals(bytes)).toBe(true);
    const invalid = expect.objectContaining({ code: 'SECRETS_KEY_INVALID', retryable: false });
    for (const text of [
      '',
      'short',
      randomBytes(31).toString('base64'),
      randomBytes(33).toString('base64'),
      `${'!'.repeat(43)}=`,
    ]) {
      expect(() => parseSecretsKey(text)).toThrow(invalid);
    }
    expect(() => sealSecret(Buffer.alloc(16), 'x', 'a')).toThrow(invalid);
    expect(() => openSecret(Buffer.alloc(16), Buffer.alloc(40), 'a')).toThrow(invalid);
  });
});
