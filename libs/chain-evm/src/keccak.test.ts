import { describe, expect, it } from 'vitest';
import { keccak256 } from 'ethers/crypto';
import fc from 'fast-check';
import { keccakOfWord } from './keccak.ts';

const hexOf = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`;

describe('keccakOfWord', () => {
  it('hashes like another implementation, regardless of earlier hashes', () => {
    expect(hexOf(keccakOfWord('0x'))).toBe(
      '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470',
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 32 }), (bytes) => {
        expect(hexOf(keccakOfWord(hexOf(bytes)))).toBe(keccak256(bytes));
      }),
    );
  });

  it('does not overwrite the result of an earlier hash', () => {
    const first = keccakOfWord('0x01');
    const before = hexOf(first);
    keccakOfWord('0x02');
    expect(hexOf(first)).toBe(before);
  });

  it.each(['', '01', '0x1', '0xzz', '0x00zz', `0x${'00'.repeat(33)}`, '1x00'])(
    'rejects %j as a word of hex',
    (value) => {
      expect(() => keccakOfWord(value)).toThrow(TypeError);
    },
  );
});
