import { describe, expect, it } from 'vitest';
import { GatewayError } from '@opentill/domain/gateway-error';
import { isReaderError, readerError } from './reader-error.ts';
import { transferKey } from './transfer.ts';

describe('reader errors', () => {
  it('marks reader errors as retryable unless an operator must act', () => {
    expect(readerError('INCONSISTENT_ANSWER', 'x').retryable).toBe(true);
    expect(readerError('RPC_RATE_LIMITED', 'x', { retryAfterMs: 5 })).toMatchObject({
      retryable: true,
      context: { retryAfterMs: 5 },
    });
    for (const code of ['WRONG_CHAIN', 'TOKEN_MISMATCH', 'RPC_FORBIDDEN', 'RPC_METHOD_MISSING'] as const) {
      expect(readerError(code, 'x').retryable).toBe(false);
    }
  });

  it('recognises reader errors by their code', () => {
    expect(isReaderError(readerError('BLOCK_NOT_FOUND', 'x'), 'BLOCK_NOT_FOUND')).toBe(true);
    expect(isReaderError(readerError('BLOCK_NOT_FOUND', 'x'), 'WRONG_CHAIN')).toBe(false);
    expect(isReaderError(new Error('BLOCK_NOT_FOUND'), 'BLOCK_NOT_FOUND')).toBe(false);
    expect(readerError('BLOCK_NOT_FOUND', 'x', {}, 'why')).toBeInstanceOf(GatewayError);
  });
});

describe('transferKey', () => {
  it('joins chain, transaction hash and position', () => {
    expect(transferKey({ chain: 'BSC', txHash: '0xab' as never, position: 'log:3' as never })).toBe(
      'BSC:0xab:log:3',
    );
  });
});
