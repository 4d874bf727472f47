import { describe, expect, test } from 'vitest';
import { decodeRlp, encodeRlp, getBytes, hexlify } from 'ethers';
import fc from 'fast-check';
import type { RlpItem } from './read-rlp.ts';
import { readRlp, wrapRlpList } from './read-rlp.ts';

type Nested = string | Nested[];

function nested(item: RlpItem): Nested {
  return item.kind === 'bytes' ? hexlify(item.bytes) : item.items.map(nested);
}

const { tree } = fc.letrec<{ tree: Nested }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.uint8Array({ maxLength: 80 }).map((bytes) => hexlify(bytes)),
    fc.array(tie('tree'), { maxLength: 6 }),
  ),
}));

describe('RLP', () => {
  test('decodes the RLP of another library', () => {
    fc.assert(
      fc.property(tree, (value) => {
        const bytes = getBytes(encodeRlp(value));
        const item = readRlp(bytes);
        expect(nested(item)).toEqual(value);
        if (item.kind === 'list') expect(wrapRlpList(item.payload)).toEqual(bytes);
      }),
    );
  });

  test('accepts only the RLP that another library would write', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), (bytes) => {
        let item: RlpItem;
        try {
          item = readRlp(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
          return;
        }
        expect(encodeRlp(nested(item))).toBe(hexlify(bytes));
        expect(decodeRlp(bytes)).toEqual(nested(item));
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([
    ['no bytes', '0x'],
    ['a single byte below 0x80 with a length', '0x8101'],
    ['a short length written out', '0xb801ff'],
    ['a length with a zero before', `0xb90038${'ff'.repeat(56)}`],
    ['fewer bytes than its length', '0x83ffff'],
    ['more bytes than its length', '0x81ffff'],
    ['a list whose last item reaches beyond it', '0xc281ff81'],
    ['a length beyond all bounds', `0xbf${'ff'.repeat(8)}`],
  ])('rejects RLP with %s', (_, hex) => {
    expect(() => readRlp(getBytes(hex))).toThrow(RangeError);
  });
});
