import { expect, it } from 'vitest';
import { readerError } from '@opentill/chain/reader-error';
import { isFailoverError } from './is-failover-error.ts';

it('fails over to another URL unless every node would return the same error', () => {
  const stays = ['RPC_RANGE_TOO_LARGE', 'TOKEN_MISMATCH', 'READ_ABORTED'] as const;
  for (const code of stays) expect(isFailoverError(readerError(code, 'x'))).toBe(false);
  expect(isFailoverError(new TypeError('a bug'))).toBe(false);
  const moves = [
    'BLOCK_NOT_FOUND',
    'RPC_RATE_LIMITED',
    'RPC_UNAVAILABLE',
    'FINALITY_UNAVAILABLE',
    'WRONG_CHAIN',
    'INCONSISTENT_ANSWER',
  ] as const;
  for (const code of moves) expect(isFailoverError(readerError(code, 'x'))).toBe(true);
});
