import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { sortAddresses } from './sort-addresses.ts';

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const inHex = (name: number): Address => `0x${hashOf(`a${name}`).slice(0, 40)}` as Address;
/** Like TRON addresses: other letters, in both cases. */
const inBase58 = (name: number): Address =>
  `T${Buffer.from(hashOf(`t${name}`), 'hex')
    .toString('base64url')
    .slice(0, 33)}` as Address;

describe('sortAddresses', () => {
  it('sorts hex addresses without duplicates', () => {
    const many = Array.from({ length: 5_000 }, (_, place) => inHex((place * 7) % 3_000));
    expect(sortAddresses(many)).toEqual([...new Set(many)].toSorted());
    expect(sortAddresses([])).toEqual([]);
  });

  it.each([inHex, inBase58])('keeps every address of any format', (addressOf) => {
    const alike = [
      '0xaaaaaaaa1',
      '0xaaaaaaaa0',
      '0xaaaaaaaa1',
      '',
      '0x',
      '0xé',
      `0x${'\uffff'.repeat(9)}`,
    ] as Address[];
    const many = [...Array.from({ length: 3_000 }, (_, place) => addressOf(place % 2_000)), ...alike];
    const sorted = sortAddresses(many);
    expect(new Set(sorted)).toEqual(new Set(many));
    expect(sorted.length).toBeLessThan(2_100);
  });

  it('keeps every address of a long list', () => {
    const many = Array.from({ length: 2 ** 18 + 5 }, (_, place) => `0x${place.toString(16)}` as Address);
    expect(new Set(sortAddresses(many)).size).toBe(many.length);
  });
});
