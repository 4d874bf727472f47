import { isReaderError } from '@opentill/chain/reader-error';

/**
 * Whether the fault may be of this one URL, so that the next call should try another: everything about reaching and
 * being served, and a node that lags; not what any node would say of the same request.
 */
export function mayBeBetterElsewhere(error: unknown): boolean {
  return (
    isReaderError(error, 'RPC_UNAVAILABLE') ||
    isReaderError(error, 'RPC_RATE_LIMITED') ||
    isReaderError(error, 'RPC_FORBIDDEN') ||
    isReaderError(error, 'RPC_METHOD_MISSING') ||
    isReaderError(error, 'RPC_REFUSED') ||
    isReaderError(error, 'BLOCK_NOT_FOUND') ||
    isReaderError(error, 'FINALITY_UNAVAILABLE') ||
    isReaderError(error, 'INCONSISTENT_ANSWER') ||
    isReaderError(error, 'WRONG_CHAIN')
  );
}
