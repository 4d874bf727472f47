import { expect, test } from 'vitest';
import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import { proofOf } from './segment-change.ts';

const hashOf = (height: number): BlockHash => `c${height}` as BlockHash;
const block = (height: number): BlockHeader => ({
  height,
  hash: hashOf(height),
  parentHash: hashOf(height - 1),
  timeSeconds: height,
});
const state = {
  head: block(7),
  finalizedHeight: 7,
  verifiedHeight: 5,
  blocks: [block(5), block(6), block(7)],
};
const end = { epoch: 1, height: 7, hash: hashOf(7) };
const parts = [{ epochEnds: [] }, { epochEnds: [end] }];

test('proves a range of proven, linked blocks', () => {
  expect(proofOf(state, [block(6), block(7)], parts)).toEqual({ epochEnds: [end] });
});

test('returns no proof for an unproven part, a broken link or a missing block', () => {
  const broken = { ...block(7), parentHash: hashOf(99) };
  expect(proofOf(state, [block(6), block(7)], [parts[0], undefined])).toBeUndefined();
  expect(proofOf(state, [block(6), block(7)], [])).toBeUndefined();
  expect(proofOf(state, [block(6), broken], parts)).toBeUndefined();
  expect(proofOf(state, [block(7)], parts)).toBeUndefined();
});
