import { expect, it } from 'vitest';
import { RpcError } from '@mysten/sui/grpc';
import { translateGrpcError } from './translate-grpc-error.ts';

const failed = {
  endpoint: 'node:443',
  signal: undefined,
  timedOut: false,
  traffic: { method: 'LedgerService/GetCheckpoint', status: 200, retryAfterMs: undefined },
};

it.each([
  ['NOT_FOUND', 'BLOCK_NOT_FOUND', true],
  ['OUT_OF_RANGE', 'BLOCK_NOT_FOUND', true],
  ['UNIMPLEMENTED', 'RPC_METHOD_MISSING', false],
  ['UNAUTHENTICATED', 'RPC_FORBIDDEN', false],
  ['RESOURCE_EXHAUSTED', 'RPC_RATE_LIMITED', true],
  ['INVALID_ARGUMENT', 'RPC_REFUSED', true],
  ['UNAVAILABLE', 'RPC_UNAVAILABLE', true],
  ['INTERNAL', 'RPC_UNAVAILABLE', true],
  ['DATA_LOSS', 'RPC_UNAVAILABLE', true],
] as const)('maps %s to %s', (status, code, retryable) => {
  const error = new RpcError('no such https://user:key@node/path', status);
  const known = translateGrpcError(error, failed)!;
  expect(known).toMatchObject({ code, retryable, cause: error });
  expect(known.context).toMatchObject({
    endpoint: 'node:443',
    method: 'LedgerService/GetCheckpoint',
    status,
  });
  expect(known.message).not.toContain('key');
});

it('prefers the HTTP status of a proxy to the status from the transport', () => {
  const at = (status: number, retryAfterMs?: number) =>
    translateGrpcError(new RpcError('', 'NOT_FOUND'), {
      ...failed,
      traffic: { ...failed.traffic, status, retryAfterMs },
    });
  expect(at(404)).toMatchObject({ code: 'RPC_REFUSED' });
  expect(at(503)).toMatchObject({ code: 'RPC_UNAVAILABLE' });
  expect(at(429, 7_000)).toMatchObject({ code: 'RPC_RATE_LIMITED', context: { retryAfterMs: 7_000 } });
});

it('distinguishes aborted reads, timeouts and programming errors', () => {
  const error = new RpcError('aborted', 'CANCELLED');
  expect(translateGrpcError(error, { ...failed, signal: AbortSignal.abort() })).toMatchObject({
    code: 'READ_ABORTED',
  });
  expect(translateGrpcError(error, { ...failed, timedOut: true })).toMatchObject({ code: 'RPC_UNAVAILABLE' });
  expect(translateGrpcError(new TypeError('x'), failed)).toBeUndefined();
});
