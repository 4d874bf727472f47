import { expect, test } from '@jest/globals';
import { createAddressBook } from './address-book.ts';
import { addressOfShortHex } from './address-codec.ts';

const hexOf = (index: number): string => index.toString(16).padStart(40, '0');

test('says of every address what the codec says, however many there are, and nothing of what is none', () => {
  const addressOf = createAddressBook(8);
  for (let round = 0; round < 3; round += 1)
    for (let index = 1; index <= 40; index += 1)
      expect(addressOf(hexOf(index))).toBe(addressOfShortHex(hexOf(index)));
  for (const wrong of ['', '41', hexOf(1).toUpperCase().replace('0', 'G'), `41${hexOf(1)}`])
    expect(addressOf(wrong)).toBeUndefined();
});
