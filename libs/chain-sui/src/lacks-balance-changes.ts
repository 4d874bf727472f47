import { isReaderError } from '@opentill/chain/reader-error';

/** True if the error says that a node omits balance changes; see requireBalanceChanges. */
export function lacksBalanceChanges(error: unknown): boolean {
  return isReaderError(error, 'INCONSISTENT_ANSWER') && error.context['lacksBalanceChanges'] === true;
}
