import { generateMnemonic as generate, mnemonicToSeedSync, validateMnemonic } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import { walletError } from './wallet-error.ts';

/** 24 words. */
const ENTROPY_BITS = 256;
const WORD_COUNTS = [12, 15, 18, 21, 24];

/** BIP-39: English words, lower case, single spaces. A secret. */
export type Mnemonic = string & { readonly __brand: 'Mnemonic' };

export function generateMnemonic(): Mnemonic {
  return generate(wordlist, ENTROPY_BITS) as Mnemonic;
}

/** Accepts any case and white space. Throws MNEMONIC_INVALID, which repeats none of the words. */
export function parseMnemonic(text: string): Mnemonic {
  const words = text
    .normalize('NFKD')
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const mnemonic = words.join(' ');
  if (validateMnemonic(mnemonic, wordlist)) return mnemonic as Mnemonic;
  const unknownPlaces = words.flatMap((word, place) => (wordlist.includes(word) ? [] : [place + 1]));
  throw walletError('MNEMONIC_INVALID', describeMistake(words.length, unknownPlaces), {
    words: words.length,
    unknownPlaces,
  });
}

function describeMistake(count: number, unknownPlaces: readonly number[]): string {
  if (!WORD_COUNTS.includes(count)) return `a mnemonic has 12, 15, 18, 21 or 24 words, not ${count}`;
  if (unknownPlaces.length === 1) return `word ${unknownPlaces[0]} is not in the list of words`;
  if (unknownPlaces.length > 1) return `words ${unknownPlaces.join(', ')} are not in the list of words`;
  return 'all words are in the list, but their checksum is wrong: check each word and the order';
}

/** 64 bytes (BIP-39, no passphrase). The caller zeroes it. */
export function seedOf(mnemonic: Mnemonic): Uint8Array {
  return mnemonicToSeedSync(mnemonic);
}
