import { expect, it } from 'vitest';
import type { ReadBlock } from './read-block.ts';
import { createSeenBlocks } from './seen-blocks.ts';
import type { TronSource } from './tron-sources.ts';

const [one, other] = [{ label: 'one' }, { label: 'other' }] as unknown as readonly [TronSource, TronSource];
const block = (height: number, entries: number): ReadBlock =>
  ({
    header: { height, hash: `of ${height}` },
    transfers: [],
    owned: Array.from({ length: entries }, () => ({})),
  }) as unknown as ReadBlock;
const heightsIn = (blocks: readonly ReadBlock[] | undefined) => blocks?.map(({ header }) => header.height);
const at = (height: number) => ({ from: height, to: height });

it('returns the blocks of a source again and, with a single source, only hashes', () => {
  for (const isReadAgain of [true, false]) {
    const seen = createSeenBlocks({ isReadAgain });
    seen.note(one, [block(1, 5), block(2, 5)]);
    expect(heightsIn(seen.blocksOf(one, { from: 1, to: 2 }))).toEqual(isReadAgain ? [1, 2] : undefined);
    expect(seen.blocksOf(other, at(1))).toBeUndefined();
    expect([seen.has({ height: 2, hash: 'of 2' }), seen.has({ height: 2, hash: 'of another' })]).toEqual([
      true,
      false,
    ]);
  }
});

it('keeps the first blocks when full and frees those below the range asked for', () => {
  const seen = createSeenBlocks({ isReadAgain: true });
  for (let height = 1; height <= 20; height += 1) seen.note(one, [block(height, 10_000)]);
  expect(heightsIn(seen.blocksOf(one, { from: 1, to: 5 }))).toEqual([1, 2, 3, 4, 5]);
  expect(seen.blocksOf(one, { from: 1, to: 6 })).toBeUndefined();
  expect(seen.has({ height: 20, hash: 'of 20' })).toBe(true);
  seen.note(other, [block(1, 10_000)]);
  expect(seen.blocksOf(other, at(1))).toBeUndefined();
  expect(heightsIn(seen.blocksOf(one, { from: 3, to: 4 }))).toEqual([3, 4]);
  seen.note(one, [block(21, 10_000), block(22, 10_000), block(23, 10_000)]);
  expect([21, 22, 23].map((height) => seen.blocksOf(one, at(height)) !== undefined)).toEqual([
    true,
    true,
    false,
  ]);
});

it('replaces a block that is read again and forgets those above or far below it', () => {
  const seen = createSeenBlocks({ isReadAgain: true });
  seen.note(one, [block(1, 30_000), block(50, 20_000), block(51, 1)]);
  expect(seen.has({ height: 51, hash: 'of 51' })).toBe(true);
  seen.note(one, [block(50, 20_000)]);
  expect([1, 50, 51].map((height) => seen.has({ height, hash: `of ${height}` }))).toEqual([
    false,
    true,
    false,
  ]);
  expect(heightsIn(seen.blocksOf(one, at(50)))).toEqual([50]);
});
