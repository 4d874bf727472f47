import { expect, test } from 'vitest';
import type { ExpectedTransfer } from '@opentill/chain/chain-reader';
import type { TronHeader } from '../decode-block.ts';
import { doubtfulHeights } from './compare-logs.ts';
import type { TokenLog } from './read-logs.ts';

const headers = [10, 11].map((height) => ({ height, hash: `hash ${height}` })) as unknown as TronHeader[];
const logOf = (height: number, changes: object = {}) =>
  ({
    height,
    blockHash: `hash ${height}`,
    txHash: `tx ${height}`,
    contract: 'T',
    amount: 5n,
    logIndex: 0,
    ...changes,
  }) as TokenLog;
const expectedOf = (height: number, amountBaseUnits = 5n) =>
  ({
    blockHash: `hash ${height}`,
    txHash: `tx ${height}`,
    contract: 'T',
    amountBaseUnits,
  }) as unknown as ExpectedTransfer;
const doubts = (ours: TokenLog[], theirs: TokenLog[], expected: ExpectedTransfer[] = []) => [
  ...doubtfulHeights(headers, [ours, theirs], expected),
];

test('doubts the blocks on which two sources differ', () => {
  const [one, other] = [logOf(10), logOf(11)];
  expect(doubts([one, other], [one, other])).toEqual([]);
  expect(doubts([one, other], [one])).toEqual([11]);
  expect(doubts([one], [one, other])).toEqual([11]);
  expect(doubts([one, other], [one, logOf(11, { amount: 6n })])).toEqual([11]);
});

test('doubts a log that names another block at its height', () => {
  const log = logOf(10, { blockHash: 'of a fork' });
  expect(doubts([log], [log])).toEqual([10]);
});

test('doubts blocks whose recorded transfers both sources leave out', () => {
  const log = logOf(10);
  expect(doubts([log], [log], [expectedOf(10)])).toEqual([]);
  expect(doubts([log], [log], [expectedOf(10), expectedOf(10)])).toEqual([10]);
  expect(doubts([log], [log], [expectedOf(11)])).toEqual([11]);
  expect(doubts([log], [log], [expectedOf(12)])).toEqual([]);
});
