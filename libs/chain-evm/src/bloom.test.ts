import { describe, expect, it } from 'vitest';
import { bloomBits, bloomMayHold, fitBloom, isBloom, isBloomOf } from './bloom.ts';

/** From go-ethereum's bloom9_test.go: the filter contains "testtest" and no other of its words. */
const word = (text: string): string => `0x${Buffer.from(text).toString('hex')}`;

function bloomOf(values: readonly string[]): string {
  const bytes = Buffer.alloc(256);
  for (const bit of values.flatMap(bloomBits))
    bytes.writeUInt8(bytes.readUInt8(255 - (bit >> 3)) | (1 << (bit & 7)), 255 - (bit >> 3));
  return `0x${bytes.toString('hex')}`;
}

describe('bloom filters', () => {
  it('sets the bits that the Yellow Paper defines', () => {
    // keccak256 of an address of 20 zero bytes begins 5380c7b7ae81.
    expect(bloomBits(`0x${'00'.repeat(20)}`)).toEqual([0x5380 & 2047, 0xc7b7 & 2047, 0xae81 & 2047]);
  });

  it('finds the values of a bloom in it, and few others', () => {
    const inside = ['testtest', 'test', 'hallo', 'other'].map(word);
    const bloom = bloomOf(inside);
    for (const value of inside) expect(bloomMayHold(bloom, bloomBits(value))).toBe(true);
    for (const value of ['tes', 'lo'].map(word)) expect(bloomMayHold(bloom, bloomBits(value))).toBe(false);
  });

  it('matches a bloom with exactly its logs, neither fewer nor others', () => {
    const logs = [
      { address: word('a'), topics: [word('b'), word('c')] },
      { address: word('a'), topics: [] },
      { address: word('d'), topics: [word('e')] },
    ];
    const bloom = bloomOf(logs.flatMap((log) => [log.address, ...log.topics]));
    const foreign = { address: word('f'), topics: [] };
    expect(fitBloom(bloom, logs)).toEqual({ isExplained: true, isExceeded: false });
    expect(fitBloom(bloom, [...logs, foreign])).toEqual({ isExplained: true, isExceeded: true });
    expect(fitBloom(bloom, logs, [foreign])).toEqual({ isExplained: true, isExceeded: false });
    expect(fitBloom(bloom, logs.slice(1), logs.slice(0, 1)).isExplained).toBe(true);
    expect(fitBloom(bloom, logs.slice(1)).isExplained).toBe(false);
    expect(isBloomOf(bloomOf([]), [])).toBe(true);
    expect([isBloomOf(bloom, []), isBloomOf(bloom, [...logs, foreign])]).toEqual([false, false]);
  });

  it('accepts only a bloom of 256 bytes', () => {
    expect(isBloom(bloomOf([]))).toBe(true);
    for (const value of [undefined, null, '0x', bloomOf([]).slice(0, -1)]) expect(isBloom(value)).toBe(false);
  });
});
