import { expect, test } from 'vitest';
import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import { changeOf, comparedHeights, proofOf } from './segment-change.ts';

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

test('verifies a range that the seen blocks contradict only by finality', () => {
  const replaced = { ...block(6), hash: hashOf(66) };
  const read = { kind: 'verified', from: 6, to: 6, headers: [replaced], below: hashOf(5) } as const;
  const found = { matched: [], live: [], foreign: [], landed: [], proof: undefined, readings: 0 };
  const goal = { head: block(7), seenHeight: 7, verifiedHeight: 6, isFinalityStale: false };
  const stepOf = (confirmations: 1 | 'finalized', finalizedHeight: number | null) =>
    changeOf({ confirmations }, state, { ...goal, finalizedHeight }, [{ ...read, ...found }]).step;
  const removed = { verifiedHeight: 5, ancestorHeight: 5, newBlocks: [] };
  expect(stepOf('finalized', 6)).toMatchObject({
    verifiedHeight: 6,
    ancestorHeight: 6,
    newBlocks: [replaced],
  });
  expect(stepOf('finalized', 5)).toMatchObject(removed);
  expect(stepOf(1, null)).toMatchObject(removed);
});

test('compares each stored block with a range that only its depth makes final', () => {
  const seen = [8, 9, 10].map(block);
  const goal = {
    head: block(10),
    seenHeight: 10,
    verifiedHeight: 9,
    finalizedHeight: 8,
    isFinalityStale: true,
  };
  const before = { ...state, head: block(10), verifiedHeight: 7, blocks: [block(7), ...seen] };
  expect(comparedHeights({}, before, goal)).toEqual([8, 9, 10]);
  expect(comparedHeights({}, before, { ...goal, finalizedHeight: 9 })).toEqual([]);
  const read = { kind: 'verified', from: 8, to: 9, below: hashOf(7), live: [], matched: [] } as const;
  const found = { foreign: [], landed: [], proof: undefined, readings: 0 };
  const replaced = { ...block(8), hash: hashOf(88) };
  const stepOf = (lower: BlockHeader) =>
    changeOf({ confirmations: 2 }, before, goal, [{ ...read, ...found, headers: [lower, block(9)] }]).step;
  expect(stepOf(replaced)).toMatchObject({ verifiedHeight: 7, ancestorHeight: 7, newBlocks: [] });
  expect(stepOf(block(8))).toMatchObject({ verifiedHeight: 9, ancestorHeight: 10 });
});
