import { describe, expect, it } from 'vitest';
import { generateMnemonic, parseMnemonic, seedOf } from './mnemonic.ts';

const HARDHAT = 'test test test test test test test test test test test junk';

describe('mnemonic', () => {
  it('generates 24 valid words, different each time', () => {
    const made = Array.from({ length: 5 }, generateMnemonic);
    expect(new Set(made).size).toBe(5);
    for (const mnemonic of made) {
      expect(mnemonic.split(' ')).toHaveLength(24);
      expect(parseMnemonic(mnemonic)).toBe(mnemonic);
    }
  });

  it('accepts a mnemonic in any case and white space', () => {
    expect(parseMnemonic(`  ${HARDHAT.toUpperCase().replaceAll(' ', '\n  ')} `)).toBe(HARDHAT);
  });

  it('reports the position of a wrong word, never the word', () => {
    const error = captured(() => parseMnemonic(HARDHAT.replace('junk', 'jumk')));
    expect(error).toMatchObject({
      code: 'MNEMONIC_INVALID',
      retryable: false,
      context: { unknownPlaces: [12] },
    });
    expect(JSON.stringify(error) + String(error)).not.toMatch(/jumk|test/);
  });

  it.each([
    ['', /has 12, 15, 18, 21 or 24 words, not 0/],
    [HARDHAT.replace('junk', 'test'), /checksum is wrong/],
    [HARDHAT.split(' ').toReversed().join(' '), /checksum is wrong/],
    [HARDHAT.slice(5), /words, not 11/],
    [`${HARDHAT} test`, /words, not 13/],
    [HARDHAT.replace('junk', 'jumk'), /^word 12 is not in the list/],
    [`tset ${HARDHAT.slice(5).replace('junk', 'jumk')}`, /^words 1, 12 are not in the list/],
  ])('refuses %p', (text, words) => {
    expect(captured(() => parseMnemonic(text))).toMatchObject({
      code: 'MNEMONIC_INVALID',
      message: expect.stringMatching(words),
    });
  });

  it("derives the seed of BIP-39's reference vector for all-zero entropy", () => {
    const seed = seedOf(parseMnemonic(`${'abandon '.repeat(11)}about`));
    expect(Buffer.from(seed).toString('hex')).toBe(
      '5eb00bbddcf069084889a8ab9155568165f5c453ccb85e70811aaed6f6da5fc1' +
        '9a5ac40b389cd370d086206dec8aa6c43daea6690f20ad3d8d48b2d2ce9e38e4',
    );
  });
});

function captured(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    return error;
  }
}
