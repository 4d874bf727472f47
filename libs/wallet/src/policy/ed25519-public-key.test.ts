import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isEd25519PublicKey } from './ed25519-public-key.ts';

const hexOf = (value: bigint): string =>
  Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse().toString('hex');
const P = 2n ** 255n - 19n;
const ORDER_8 = 0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n;

describe('ed25519 public key', () => {
  it('accepts public keys that node:crypto made', () => {
    for (let round = 0; round < 50; round += 1) {
      const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
      expect(isEd25519PublicKey(Buffer.from(x, 'base64url').toString('hex'))).toBe(true);
    }
    // RFC 8032, section 7.1, test 1.
    expect(isEd25519PublicKey('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a')).toBe(true);
  });

  it.each([
    ['the neutral element', 1n],
    ['its other sign', 1n + 2n ** 255n],
    ['the point of order 2', P - 1n],
    ['a point of order 4', 0n],
    ['its negative', 2n ** 255n],
    ['a point of order 8', ORDER_8],
    ['another', P - ORDER_8],
    ['the neutral element, not canonical', P + 1n],
    ['zero, not canonical', P],
  ])('rejects %s as a public key', (_, value) => {
    expect(P - ORDER_8).toBe(0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n);
    expect(isEd25519PublicKey(hexOf(value))).toBe(false);
  });

  it.each(['', 'zz', 'D75A980182B10AB7D54BFED3C964073A0EE172F3DAA62325AF021A68F707511A', '00', hexOf(2n)])(
    'rejects %p, which is no point or not in canonical form',
    (text) => expect(isEd25519PublicKey(text)).toBe(false),
  );
});
