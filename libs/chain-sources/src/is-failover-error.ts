import { isReaderError } from '@opentill/chain/reader-error';

/** True for faults of reaching or serving, and a lagging node. False for an error that any node would return. */
export function isFailoverError(error: unknown): boolean {
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
