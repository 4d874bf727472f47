import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { pointCompress } from 'tiny-secp256k1';
import { createChildPublicKeys } from './child-public-key.ts';
import { depositBranch, depositXpub } from './derivation.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

describe('createChildPublicKeys', () => {
  it('derives the same keys as the bip32 library for any seed and index', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 64, maxLength: 64 }),
        fc.array(fc.integer({ min: 0, max: 0x7fff_ffff }), { minLength: 1, maxLength: 5 }),
        (seed, indexes) => {
          const branch = depositBranch(depositXpub(seed, 'EVM', 'main'), 'main');
          const children = createChildPublicKeys(branch);
          for (const index of indexes) {
            const child = children.uncompressed(index);
            expect(child).toHaveLength(65);
            expect(hex(pointCompress(child, true))).toBe(hex(branch.derive(index).publicKey));
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  it.each([-1, 0.5, 0x8000_0000, Number.NaN])('rejects the index %s', (index) => {
    const children = createChildPublicKeys(
      depositBranch(depositXpub(new Uint8Array(64).fill(7), 'EVM', 'main'), 'main'),
    );
    expect(() => children.uncompressed(index)).toThrow(RangeError);
  });
});
