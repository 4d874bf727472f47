import { expect, it } from 'vitest';
import type { BlockHash } from '@opentill/chain/block';
import { readerError } from '@opentill/chain/reader-error';
import { readInCalls } from './read-in-calls.ts';

it('does not retry the full length after each part of a range that was too large', async () => {
  const hash = (height: number): BlockHash => `0x${height}` as BlockHash;
  const asked: number[] = [];
  const { headers } = await readInCalls(
    { from: 1, to: 200 },
    () => 64,
    ({ from, to }) => {
      asked.push(to - from + 1);
      if (to - from + 1 > 8) throw readerError('RPC_RANGE_TOO_LARGE', 'too many doubts');
      const last = { height: to, hash: hash(to), parentHash: hash(to - 1), timeSeconds: to };
      return Promise.resolve({ headers: [last], below: hash(from - 1), transfers: [] });
    },
    () => false,
  );
  expect(headers.map(({ height }) => height)).toEqual([200]);
  expect(asked.slice(0, 6)).toEqual([64, 32, 16, 8, 16, 8]);
  expect(asked).toHaveLength(51);
});
