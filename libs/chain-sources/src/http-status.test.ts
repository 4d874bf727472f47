import { expect, it } from 'vitest';
import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import { codeOfHttpStatus } from './http-status.ts';

it.each<[number, ReaderErrorCode | undefined]>([
  [200, undefined],
  [302, 'RPC_UNAVAILABLE'],
  [401, 'RPC_FORBIDDEN'],
  [402, 'RPC_FORBIDDEN'],
  [403, 'RPC_FORBIDDEN'],
  [404, 'RPC_REFUSED'],
  [408, 'RPC_UNAVAILABLE'],
  [413, 'RPC_RANGE_TOO_LARGE'],
  [429, 'RPC_RATE_LIMITED'],
  [500, 'RPC_UNAVAILABLE'],
  [503, 'RPC_UNAVAILABLE'],
])('translates HTTP %i', (status, translated) => {
  expect(codeOfHttpStatus(status)).toBe(translated);
});
